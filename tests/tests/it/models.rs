use std::fs;

use super::support::{Sandbox, checkpoint, pdf};

#[test]
fn the_bundled_checkpoint_is_listed_and_sound() {
    let sandbox = Sandbox::new();
    let list = sandbox.run(["models", "list"]);
    assert_eq!(list.code, 0, "{}", list.err);
    assert!(list.out.lines().any(|line| line.starts_with("gravity-nano")), "{}", list.out);
    let verify = sandbox.run(["models", "verify"]);
    assert_eq!((verify.code, verify.err.as_str()), (0, ""));
}

#[test]
fn checkpoints_are_found_where_path_says() {
    let sandbox = Sandbox::new();
    let path = sandbox.run(["models", "path"]).out;
    let own = path.lines().next().unwrap().to_owned();
    assert!(own.starts_with(sandbox.path("").to_str().unwrap()), "{own}");
    let folder = checkpoint(&sandbox, "mine");
    fs::create_dir_all(&own).unwrap();
    fs::rename(folder, format!("{own}/mine")).unwrap();
    let snapshot = sandbox.path(".cache/huggingface/hub/models--trillionlabs--GravityOCR/snapshots/0123");
    fs::create_dir_all(snapshot.parent().unwrap()).unwrap();
    fs::rename(checkpoint(&sandbox, "cached"), &snapshot).unwrap();
    let list = sandbox.run(["models", "list"]).out;
    for folder in [format!("{own}/mine"), snapshot.display().to_string()] {
        assert!(list.contains(&folder), "{folder} in {list}");
    }
}

#[test]
fn a_folder_is_used_like_the_bundled_checkpoint() {
    let sandbox = Sandbox::new();
    let folder = checkpoint(&sandbox, "copy");
    let ran = sandbox.run(["models", "verify", folder.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    sandbox.write("page.pdf", pdf(1));
    assert_eq!(sandbox.recognize("page.pdf --checkpoint copy").code, 0);
}

#[test]
fn weights_cut_short_are_never_loaded() {
    let sandbox = Sandbox::new();
    let folder = checkpoint(&sandbox, "cut");
    let weights = fs::read(folder.join("model.safetensors")).unwrap();
    fs::write(folder.join("model.safetensors"), &weights[..weights.len() - 1000]).unwrap();
    sandbox.write("page.pdf", pdf(1));
    for ran in [sandbox.recognize("page.pdf --checkpoint cut -o out.md"), sandbox.run(["models", "verify", "cut"])] {
        assert_eq!(ran.code, 1);
        let faults = ran.faults();
        assert_eq!(faults.len(), 1, "{}", ran.err);
        assert!(faults[0].contains("model.safetensors") && faults[0].contains("cut short"), "{}", ran.err);
    }
    assert!(!sandbox.path("out.md").exists());
}

#[test]
fn a_folder_without_a_checkpoint_is_a_sentence() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.write("page.pdf", pdf(1));
    for (checkpoint, part) in [("empty", "config.json is missing"), ("nowhere", "is not a folder")] {
        let ran = sandbox.recognize(&format!("page.pdf --checkpoint {checkpoint}"));
        assert_eq!(ran.code, 1);
        assert!(ran.faults()[0].contains(part), "{}", ran.err);
    }
}

#[test]
fn a_checkpoint_that_does_not_draft_says_why() {
    let sandbox = Sandbox::new();
    let folder = checkpoint(&sandbox, "plain");
    fs::remove_file(folder.join("block_diffusion.json")).unwrap();
    sandbox.write("page.pdf", pdf(1));
    assert_eq!(sandbox.recognize("page.pdf --checkpoint plain").code, 0, "autoregressive decoding is the default then");
    let ran = sandbox.recognize("page.pdf --checkpoint plain --decode spec");
    assert_eq!(ran.code, 1);
    assert!(ran.faults()[0].contains("block_diffusion.json"), "{}", ran.err);
}
