//! TLS with the options of the connection string, as the driver understands them: its library, its roots, its
//! files.

use ::mongodb::options::TlsOptions;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Reads the files that `options` name.
///
/// # Errors
/// What is wrong with them.
pub(super) fn connector(options: &TlsOptions) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    match &options.ca_file_path {
        Some(path) => roots.add_parsable_certificates(certificates("tlsCAFile", path)?),
        None => {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            (0, 0)
        }
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let mut config = match &options.cert_key_file_path {
        Some(path) => {
            let chain = certificates("tlsCertificateKeyFile", path)?;
            let key = PrivateKeyDer::from_pem_file(path).map_err(|error| {
                format!("tlsCertificateKeyFile {}: no private key: {error}", path.display())
            })?;
            builder.with_client_auth_cert(chain, key).map_err(|error| error.to_string())?
        }
        None => builder.with_no_client_auth(),
    };
    if options.allow_invalid_certificates == Some(true) {
        config.dangerous().set_certificate_verifier(Arc::new(AnyCertificate(provider)));
    }
    Ok(Arc::new(config).into())
}

fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    read.map_err(|error| format!("{option} {}: {error}", path.display()))
}

/// `tlsAllowInvalidCertificates=true`: whoever has the key of the certificate that it shows may be the server.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
