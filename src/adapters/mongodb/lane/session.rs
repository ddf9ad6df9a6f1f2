//! The logical session of a connection: each command carries its id, as the driver's do.

use bson::spec::{BinarySubtype, ElementType};
use bson::{Binary, Bson, Document, doc};

/// `lsid: { id: <UUID> }` as an element.
const ELEMENT: usize = 1 + 5 + 30;

/// A session's id.
#[derive(Clone)]
pub(super) struct Session {
    element: [u8; ELEMENT],
}

impl Session {
    pub(super) fn new() -> Session {
        let mut element = [0; ELEMENT];
        element[0] = ElementType::EmbeddedDocument as u8;
        element[1..6].copy_from_slice(b"lsid\0");
        element[6..10].copy_from_slice(&30_i32.to_le_bytes());
        element[10] = ElementType::Binary as u8;
        element[11..14].copy_from_slice(b"id\0");
        element[14..18].copy_from_slice(&16_i32.to_le_bytes());
        element[18] = BinarySubtype::Uuid.into();
        element[19..35].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        Session { element }
    }

    /// What a command carries.
    pub(super) fn element(&self) -> &[u8] {
        &self.element
    }

    /// Its entry in `endSessions`.
    pub(super) fn document(&self) -> Document {
        let bytes = self.element[19..35].to_vec();
        doc! { "id": Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_element_is_that_of_a_document_with_the_id() {
        let session = Session::new();
        let whole = bson::serialize_to_vec(&doc! { "lsid": session.document() }).expect("a document");
        assert_eq!(&whole[4..whole.len() - 1], session.element());
        assert_ne!(session.element(), Session::new().element());
    }
}
