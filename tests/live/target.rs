//! The server that a test talks to: a given one, or an embedded one of its own.

use bson::{Document, doc};
use mongodb::error::ErrorKind;
use mongodb::{Client, Database};
use nbrs::server::{Server, ServerConfig};

/// A client of a server, a database of its own on it, and what must live as long.
pub struct Target {
    pub client: Client,
    pub database: Database,
    own: Option<(Server, tempfile::TempDir)>,
}

#[allow(dead_code, reason = "one test binary gives a server, the other does not")]
impl Target {
    /// An embedded server on a directory of its own.
    pub async fn embedded() -> Target {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start(ServerConfig { data_dir: directory.path().join("data"), port: 0 })
            .await
            .expect("the embedded server starts");
        let uri = format!("mongodb://{}", server.address());
        Target::at(&uri, Some((server, directory))).await
    }

    /// A server that runs already.
    pub async fn given(uri: &str) -> Target {
        Target::at(uri, None).await
    }

    async fn at(uri: &str, own: Option<(Server, tempfile::TempDir)>) -> Target {
        let client = Client::with_uri_str(uri).await.expect("the URI is one");
        let name = format!("nbrs_test_{}", uuid::Uuid::new_v4().simple());
        Target { database: client.database(&name), client, own }
    }

    pub async fn run(&self, command: Document) -> Document {
        self.database.run_command(command.clone()).await.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// The code and name of a command that must fail.
    pub async fn fails(&self, command: Document) -> (i32, String, String) {
        match self.database.run_command(command.clone()).await {
            Ok(reply) => panic!("{command} succeeded: {reply}"),
            Err(error) => match *error.kind {
                ErrorKind::Command(error) => (error.code, error.code_name, error.message),
                other => panic!("{command}: {other:?}"),
            },
        }
    }

    /// The first batch of a command with a cursor.
    pub async fn batch(&self, command: Document) -> Vec<Document> {
        let reply = self.run(command).await;
        let cursor = reply.get_document("cursor").expect("a cursor");
        cursor
            .get_array("firstBatch")
            .expect("a first batch")
            .iter()
            .map(|item| item.as_document().expect("documents").clone())
            .collect()
    }

    /// Removes the test's database and stops the server, if it is its own.
    pub async fn end(self) {
        self.database.run_command(doc! { "dropDatabase": 1 }).await.expect("the database is dropped");
        self.client.shutdown().await;
        if let Some((server, _directory)) = self.own {
            server.stop().await.expect("the server stops");
        }
    }
}

/// A number of any type.
pub fn number(document: &Document, field: &str) -> i64 {
    match document.get(field) {
        Some(bson::Bson::Int32(n)) => i64::from(*n),
        Some(bson::Bson::Int64(n)) => *n,
        Some(bson::Bson::Double(n)) => *n as i64,
        other => panic!("{field} is {other:?} in {document}"),
    }
}
