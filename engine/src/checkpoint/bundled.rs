//! The bundled checkpoint, as it lies in `assets/nano`.

/// Puts bytes at an address that vector loads like, so that the weights are used where they are.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

macro_rules! file {
    ($name:literal) => {{
        static CONTENT: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/nano/", $name)));
        ($name, &CONTENT.0)
    }};
}

/// File names and contents.
pub(super) static NANO: &[(&str, &[u8])] = &[
    file!("config.json"),
    file!("preprocessor_config.json"),
    file!("generation_config.json"),
    file!("block_diffusion.json"),
    file!("gravity.json"),
    file!("tokenizer.json"),
    file!("tokenizer_config.json"),
    file!("chat_template.jinja"),
    file!("model.safetensors"),
];
