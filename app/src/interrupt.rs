//! Ctrl+C: the first asks to stop and keep what is finished, the second ends the program at once.

use engine::cancel::Cancel;

/// Whether the user asked to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Cancel);

impl Interrupt {
    /// Listens to Ctrl+C from now on. Where that cannot be had, Ctrl+C ends the program as usual.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        let flag = interrupt.clone();
        let _ = ctrlc::set_handler(move || {
            if flag.is_asked() {
                std::process::exit(130);
            }
            flag.0.cancel();
        });
        interrupt
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Set when asked, for what looks at it by itself.
    pub(crate) fn flag(&self) -> &Cancel {
        &self.0
    }

    #[cfg(test)]
    pub(crate) fn ask(&self) {
        self.0.cancel();
    }
}
