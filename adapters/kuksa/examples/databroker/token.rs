//! The check of a token: a JSON web token, signed by RS256, that has not expired (RFC 7519; RFC 7518, section 3.3).

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use std::time::{SystemTime, UNIX_EPOCH};
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// Lets calls with a good token in; without a key, all.
#[derive(Clone, Default)]
pub(crate) struct Guard {
    key: Option<Vec<u8>>,
}

impl Guard {
    /// With the public half of an RSA key of 2,048 bits in PEM.
    pub(crate) fn of(pem: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let letters: String = pem.lines().filter(|l| !l.starts_with('-')).collect();
        let der = BASE64_STANDARD.decode(letters)?;
        // The key stands behind what says that it is one of RSA: 24 bytes for each key of this size (RFC 5280, SubjectPublicKeyInfo).
        let key = der.get(24..).ok_or("the key for tokens is too short")?;
        Ok(Guard {
            key: Some(key.to_vec()),
        })
    }
}

fn is_good(key: &[u8], token: &str) -> Option<()> {
    let (signed, signature) = token.rsplit_once('.')?;
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key)
        .verify(signed.as_bytes(), &signature)
        .ok()?;
    let claims = BASE64_URL_SAFE_NO_PAD
        .decode(signed.split_once('.')?.1)
        .ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    (claims["exp"].as_u64()? > now).then_some(())
}

impl Interceptor for Guard {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let Some(key) = &self.key else {
            return Ok(request);
        };
        let header = request.metadata().get("authorization");
        let Some(header) = header.and_then(|header| header.to_str().ok()) else {
            return Err(Status::unauthenticated("No auth token provided"));
        };
        let token = header.strip_prefix("Bearer ").unwrap_or_default();
        match is_good(key, token) {
            Some(()) => Ok(request),
            None => Err(Status::unauthenticated(
                "Invalid auth token: InvalidSignature",
            )),
        }
    }
}
