//! Whole folders: what opens, and what is said about those that do not.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::PathBuf;

use super::*;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

#[test]
fn reference_checkpoint_opens() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny_trained")).unwrap();
    checkpoint.verify().unwrap();
    assert_eq!(checkpoint.name, "glm_ocr_tiny_trained");
    assert_eq!(checkpoint.end_tokens, [560, 567]);
    assert_eq!(checkpoint.config.text.head_dim, 24);
    assert_eq!(checkpoint.config.text.mrope_section, [3, 4, 5]);
    assert_eq!(checkpoint.config.vision.merger_size(), 192);
    assert_eq!(checkpoint.abilities.unit, Unit::Region);
    assert_eq!(checkpoint.block_diffusion.as_ref().unwrap().block_size, 8);
    assert_eq!(checkpoint.why_not(), None);
    // 9 image tokens between the marks, as the published template writes them.
    let mut expected = vec![562, 564, 567, 198, 570];
    expected.extend([594; 9]);
    expected.extend([571, 511, 380, 25, 568, 198]);
    assert_eq!(checkpoint.prompt(Task::Text, 9).unwrap(), expected);
}

#[test]
fn bundled_checkpoint_opens() {
    let checkpoint = Checkpoint::bundled().unwrap();
    checkpoint.verify().unwrap();
    assert_eq!(checkpoint.source, None);
    assert!(matches!(checkpoint.abilities.unit, Unit::Line { height: 28, .. }));
    assert!(checkpoint.can_verify_drafts());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/nano");
    let same = Checkpoint::open(&folder).unwrap();
    assert_eq!(same.config, checkpoint.config);
    assert_eq!(same.prompt(Task::Text, 3).unwrap(), checkpoint.prompt(Task::Text, 3).unwrap());
}
