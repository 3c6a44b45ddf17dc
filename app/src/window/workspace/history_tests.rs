#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use engine::job::Source;

use super::super::project::DocumentId;
use super::*;

/// A project of documents with one blank page each.
fn project(documents: usize) -> (Project, Vec<PageKey>) {
    let mut project = Project::default();
    let mut key = |n: usize| {
        let document = project.add(format!("{n}.pdf"), Source::Path(format!("{n}.pdf").into()));
        project.document_mut(document).unwrap().pages = vec![Arc::default()];
        PageKey { document, page: 0 }
    };
    let keys = (0..documents).map(&mut key).collect();
    (project, keys)
}

fn noted(text: &str) -> Page {
    Page { notice: Some(text.to_owned()), ..Page::default() }
}

fn notice(project: &Project, key: PageKey) -> Option<&str> {
    project.page(key).unwrap().notice.as_deref()
}

#[test]
fn changes_with_one_key_are_one_undo_until_another_comes_between() {
    let (mut project, keys) = project(2);
    let mut history = History::default();
    history.change(&mut project, Operation::Move, keys[0], noted("a"), Some(1));
    history.change(&mut project, Operation::Move, keys[0], noted("b"), Some(1));
    history.change(&mut project, Operation::Move, keys[1], noted("c"), Some(1));
    history.change(&mut project, Operation::Edit, keys[0], noted("d"), None);
    history.change(&mut project, Operation::Move, keys[0], noted("e"), Some(1));
    assert_eq!(history.undo(&mut project).unwrap(), [keys[0]]);
    assert_eq!(notice(&project, keys[0]), Some("d"));
    assert_eq!(history.undo_operation(), Some(Operation::Edit));
    history.undo(&mut project).unwrap();
    assert_eq!(history.undo(&mut project).unwrap(), [keys[0], keys[1]]);
    assert_eq!((notice(&project, keys[0]), notice(&project, keys[1])), (None, None));
    assert_eq!((history.undo_operation(), history.redo_operation()), (None, Some(Operation::Move)));
    assert!(history.undo(&mut project).unwrap().is_empty());
}

#[test]
fn a_drag_there_and_back_leaves_nothing_to_undo() {
    let (mut project, keys) = project(1);
    let mut history = History::default();
    history.change(&mut project, Operation::Move, keys[0], noted("away"), Some(1));
    history.change(&mut project, Operation::Move, keys[0], Page::default(), Some(1));
    assert_eq!(history.undo_operation(), None);
    history.change(&mut project, Operation::Move, keys[0], noted("away"), Some(1));
    history.undo(&mut project).unwrap();
    assert_eq!(notice(&project, keys[0]), None);
}

#[test]
fn only_so_many_changes_are_kept() {
    let (mut project, keys) = project(1);
    let mut history = History::default();
    for number in 0..DEPTH + 5 {
        history.change(&mut project, Operation::Edit, keys[0], noted(&number.to_string()), None);
    }
    let undone =
        std::iter::repeat_with(|| history.undo(&mut project).unwrap()).take_while(|keys| !keys.is_empty()).count();
    assert_eq!(undone, DEPTH);
    assert_eq!(notice(&project, keys[0]), Some("4"));
    let redone =
        std::iter::repeat_with(|| history.redo(&mut project).unwrap()).take_while(|keys| !keys.is_empty()).count();
    assert_eq!((redone, notice(&project, keys[0])), (DEPTH, Some("1004")));
}

#[test]
fn what_was_learned_is_not_undone_and_is_no_change_of_the_person() {
    let (mut project, keys) = project(1);
    let mut history = History::default();
    history.change(&mut project, Operation::Edit, keys[0], noted("a"), None);
    let (revision, pulse) = (history.revision(), history.pulse());
    history.amend(&mut project, keys[0], |page| page.size = Some([3, 4]));
    assert_eq!((history.revision(), history.pulse()), (revision, pulse + 1));
    history.amend(&mut project, keys[0], |page| page.size = Some([3, 4]));
    assert_eq!(history.pulse(), pulse + 1, "nothing new was learned");
    history.undo(&mut project).unwrap();
    assert_eq!(**project.page(keys[0]).unwrap(), Page { size: Some([3, 4]), ..Page::default() });
    history.redo(&mut project).unwrap();
    assert_eq!(**project.page(keys[0]).unwrap(), Page { size: Some([3, 4]), ..noted("a") });
}

#[test]
fn closing_a_document_leaves_the_undo_of_others_whole() {
    let (mut project, keys) = project(2);
    let mut history = History::default();
    history.change(&mut project, Operation::Edit, keys[0], noted("a"), None);
    // One search went over both documents.
    history.change(&mut project, Operation::Detect, keys[0], noted("b"), Some(1));
    history.change(&mut project, Operation::Detect, keys[1], noted("c"), Some(1));
    history.change(&mut project, Operation::Edit, keys[1], noted("d"), None);
    let closed: DocumentId = keys[1].document;
    project.documents.retain(|document| document.id != closed);
    history.forget(|key| key.document == closed);
    assert_eq!(history.undo_operation(), Some(Operation::Detect));
    history.undo(&mut project).unwrap();
    assert_eq!(notice(&project, keys[0]), Some("a"));
    history.undo(&mut project).unwrap();
    assert_eq!(notice(&project, keys[0]), None);
    history.redo(&mut project).unwrap();
    history.redo(&mut project).unwrap();
    assert_eq!((notice(&project, keys[0]), history.redo_operation()), (Some("b"), None));
}
