//! The kernels as they were compiled at build time, one image for each kind of card.

use super::driver::OLDEST_CAPABILITY;

macro_rules! image {
    ($file:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $file))
    };
}

/// PTX, ended by a NUL as the driver expects.
static PTX: &str = concat!(include_str!(concat!(env!("OUT_DIR"), "/compute_90.ptx")), "\0");

/// What the driver loads on a card of this compute capability: machine code, or for later cards PTX, ended by a NUL. None
/// for a card that is too old.
pub fn image(capability: (u32, u32)) -> Option<&'static [u8]> {
    // Machine code runs on the same major capability with the same or a later minor one.
    match capability {
        old if old < OLDEST_CAPABILITY => None,
        (8, minor) if minor >= 9 => Some(image!("sm_89.cubin")),
        (8, minor) if minor >= 6 => Some(image!("sm_86.cubin")),
        (8, _) => Some(image!("sm_80.cubin")),
        (9, _) => Some(image!("sm_90.cubin")),
        _ => Some(PTX.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::launch::KERNELS;
    use super::*;

    #[test]
    fn every_image_has_every_kernel() {
        for capability in [(8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (12, 1)] {
            let bytes = image(capability).unwrap_or_default();
            for kernel in KERNELS {
                let found = bytes.windows(kernel.len()).any(|at| at == kernel.as_bytes());
                assert!(found, "{kernel} for {capability:?}");
            }
        }
        assert_eq!(image((7, 5)), None);
        assert!(image((9, 0)).is_some_and(|bytes| bytes.starts_with(b"\x7fELF")));
        assert!(image((12, 0)).is_some_and(|bytes| bytes.ends_with(b"\0") && !bytes.starts_with(b"\x7fELF")));
    }
}
