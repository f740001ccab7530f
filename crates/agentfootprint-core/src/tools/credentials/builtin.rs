//! The built-in kinds of credentials.

use footprint::value::Str;

use super::{Credential, CredentialHeaders, Secret};

/// `Authorization: Bearer …`.
#[derive(Clone, Debug)]
pub struct Bearer(pub Secret);

impl Credential for Bearer {
    fn kind(&self) -> &str {
        "bearer"
    }

    fn to_headers(&self) -> CredentialHeaders {
        CredentialHeaders::default().with("authorization", Secret::new(format!("Bearer {}", self.0.expose())))
    }
}

/// A key in a header, by default `x-api-key`.
#[derive(Clone, Debug)]
pub struct ApiKey {
    key: Secret,
    header: Str,
}

impl ApiKey {
    /// A key in `x-api-key`.
    pub fn new(key: Secret) -> Self {
        Self { key, header: "x-api-key".into() }
    }

    /// Uses another header.
    #[must_use]
    pub fn header(mut self, name: impl Into<Str>) -> Self {
        self.header = name.into();
        self
    }
}

impl Credential for ApiKey {
    fn kind(&self) -> &str {
        "apiKey"
    }

    fn to_headers(&self) -> CredentialHeaders {
        CredentialHeaders::default().with(self.header.clone(), self.key.clone())
    }
}

/// `Authorization: Basic …`.
#[derive(Clone, Debug)]
pub struct Basic {
    /// The user.
    pub username: Str,
    /// The password.
    pub password: Secret,
}

impl Credential for Basic {
    fn kind(&self) -> &str {
        "basic"
    }

    fn to_headers(&self) -> CredentialHeaders {
        let plain = format!("{}:{}", self.username, self.password.expose());
        CredentialHeaders::default()
            .with("authorization", Secret::new(format!("Basic {}", base64(plain.as_bytes()))))
    }
}

/// Headers given as they are.
#[derive(Clone, Debug)]
pub struct HeaderCredential(pub CredentialHeaders);

impl Credential for HeaderCredential {
    fn kind(&self) -> &str {
        "headers"
    }

    fn to_headers(&self) -> CredentialHeaders {
        self.0.clone()
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let packed = chunk.iter().fold(0u32, |packed, byte| (packed << 8) | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let index = usize::try_from((packed >> (18 - 6 * at)) & 63).unwrap_or(0);
            let sign = if at <= chunk.len() { ALPHABET.get(index).copied().unwrap_or(b'=') } else { b'=' };
            out.push(char::from(sign));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves TOOL-50.
    #[test]
    fn built_in_kinds_carry_their_headers_and_never_print() {
        let basic = Basic { username: "ann".into(), password: Secret::new("pass") };
        let headers = basic.to_headers();
        let (name, value) = headers.iter().next().unwrap();
        assert_eq!((name, value.expose()), ("authorization", "Basic YW5uOnBhc3M="));
        assert_eq!(Bearer(Secret::new("t")).to_headers().iter().next().unwrap().1.expose(), "Bearer t");
        let key = ApiKey::new(Secret::new("k"));
        assert_eq!(key.to_headers().iter().next().unwrap().0, "x-api-key");
        assert_eq!(key.kind(), "apiKey");
        for text in [format!("{basic:?}"), format!("{headers:?}"), format!("{key:?}")] {
            assert!(!text.contains("pass\"") && !text.contains("YW5u") && !text.contains("\"k\""), "{text}");
        }
        assert_eq!((base64(b"a"), base64(b"ab"), base64(b"")), ("YQ==".into(), "YWI=".into(), String::new()));
    }
}
