//! The documents at hand. A few are kept open; any other is opened again when it is needed.

use std::collections::HashMap;
use std::sync::Arc;

use engine::document::{Document, DocumentError};
use engine::job::Source;

use super::super::workspace::project::DocumentId;
use super::task_queue::Opening;

/// Documents kept open: each has its whole file in memory.
const OPEN: usize = 4;

/// The documents that were opened and not closed.
#[derive(Default)]
pub(super) struct OpenDocuments {
    known: HashMap<DocumentId, Arc<Opening>>,
    /// The last used is last.
    open: Vec<(DocumentId, Document)>,
}

impl OpenDocuments {
    /// Opens a document, or opens it in another way than before; gives its number of pages.
    pub(super) fn add(&mut self, opening: &Arc<Opening>) -> Result<usize, DocumentError> {
        self.close(opening.document);
        let count = self.open(opening)?.page_count();
        self.known.insert(opening.document, Arc::clone(opening));
        Ok(count)
    }

    /// A document, opened again if need be; `None` when it was closed or never opened.
    pub(super) fn document(&mut self, id: DocumentId) -> Option<Result<&mut Document, DocumentError>> {
        let opening = Arc::clone(self.known.get(&id)?);
        let Some(at) = self.open.iter().position(|(open, _)| *open == id) else {
            return Some(self.open(&opening));
        };
        let used = self.open.remove(at);
        self.open.push(used);
        self.open.last_mut().map(|(_, document)| Ok(document))
    }

    /// Forgets a document.
    pub(super) fn close(&mut self, id: DocumentId) {
        self.known.remove(&id);
        self.put_away(id);
    }

    /// Lets go of a document until it is needed again.
    pub(super) fn put_away(&mut self, id: DocumentId) {
        self.open.retain(|(open, _)| *open != id);
    }

    fn open(&mut self, opening: &Opening) -> Result<&mut Document, DocumentError> {
        // Before opening, so that no more than a few are in memory at any time.
        while self.open.len() >= OPEN {
            self.open.remove(0);
        }
        let options = opening.pdf.open_options(opening.password.clone());
        let document = match &opening.source {
            Source::Path(path) => Document::open(path, &options),
            Source::Bytes { name, bytes } => Document::from_bytes(name, bytes.clone(), &options),
        }?;
        Ok(&mut self.open.push_mut((opening.document, document)).1)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::super::testing;
    use super::*;
    use crate::window::workspace::settings::PdfOptions;

    #[test]
    fn few_documents_stay_open_and_all_can_be_had() {
        let mut documents = OpenDocuments::default();
        for id in 0..7 {
            let source = Source::Bytes { name: format!("{id}.pdf"), bytes: testing::pages(id as usize + 1) };
            assert_eq!(
                documents
                    .add(&Arc::new(Opening {
                        document: DocumentId(id),
                        source,
                        password: None,
                        pdf: PdfOptions::default()
                    }))
                    .unwrap(),
                id as usize + 1
            );
            assert!(documents.open.len() <= OPEN);
        }
        let open = |documents: &OpenDocuments| documents.open.iter().map(|(id, _)| id.0).collect::<Vec<_>>();
        assert_eq!(open(&documents), [3, 4, 5, 6]);
        assert_eq!(documents.document(DocumentId(3)).unwrap().unwrap().page_count(), 4);
        assert_eq!(open(&documents), [4, 5, 6, 3]);
        assert_eq!(documents.document(DocumentId(0)).unwrap().unwrap().page_count(), 1);
        assert_eq!(open(&documents), [5, 6, 3, 0]);
        documents.close(DocumentId(6));
        assert!(documents.document(DocumentId(6)).is_none(), "a closed one is not opened again");
        documents.put_away(DocumentId(3));
        assert_eq!(documents.document(DocumentId(3)).unwrap().unwrap().page_count(), 4);
    }

    #[test]
    fn a_file_that_is_gone_when_it_is_needed_again_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scan.pdf");
        std::fs::write(&path, testing::pages(2)).unwrap();
        let mut documents = OpenDocuments::default();
        let document = DocumentId(1);
        documents
            .add(&Arc::new(Opening {
                document,
                source: Source::Path(path.clone()),
                password: None,
                pdf: PdfOptions::default(),
            }))
            .unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(documents.document(document).unwrap().is_ok(), "it is open still");
        documents.put_away(document);
        let message = documents.document(document).unwrap().err().unwrap().to_string();
        assert_eq!(message, "scan.pdf cannot be read: there is no such file");
    }
}
