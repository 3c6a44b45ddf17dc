//! The colours of rounds on a terminal.

/// Colours of the 256-colour table, one round after another. After Okabe and Ito's set, which people with any common
/// colour blindness tell apart; neighbours differ in lightness too, and all are readable on black and on white.
const ROUNDS: [u8; 6] = [33, 172, 36, 168, 68, 166];

/// Ends every colour and style.
pub(crate) const RESET: &str = "\x1b[0m";

/// What has not been verified yet.
pub(crate) const GHOST: &str = "\x1b[2m";

/// Switches to the colour of a round; `corrected` text is underlined as well.
pub(crate) fn round(round: u32, corrected: bool) -> String {
    let colour = ROUNDS[round as usize % ROUNDS.len()];
    format!("\x1b[38;5;{colour}{}m", if corrected { ";4" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_rounds_differ_and_the_cycle_closes() {
        for n in 0..12 {
            assert_ne!(round(n, false), round(n + 1, false));
            assert_eq!(round(n, false), round(n + 6, false));
        }
        assert_eq!(round(0, true), "\x1b[38;5;33;4m");
    }
}
