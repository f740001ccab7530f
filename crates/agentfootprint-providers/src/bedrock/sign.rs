use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as sign_request};
use aws_sigv4::sign::v4;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// The name requests to the runtime are signed for.
const SERVICE: &str = "bedrock";

/// Adds the headers of a signature (SigV4) over method, address, headers and body.
///
/// The error is a sentence without any secret.
pub(super) fn sign(
    headers: &mut HeaderMap,
    url: &Url,
    body: &[u8],
    credentials: &Credentials,
    region: &str,
    now_ms: u64,
) -> Result<(), String> {
    let failed = |what: &str| format!("the request cannot be signed ({what}); check region and credentials");
    let identity = credentials.clone().into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(UNIX_EPOCH + Duration::from_millis(now_ms))
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| failed(&error.to_string()))?
        .into();
    let signed = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let request = SignableRequest::new("POST", url.as_str(), signed, SignableBody::Bytes(body))
        .map_err(|error| failed(&error.to_string()))?;
    let output = sign_request(request, &params).map_err(|error| failed(&error.to_string()))?;
    let (instructions, _signature) = output.into_parts();
    let (new_headers, _query) = instructions.into_parts();
    for header in new_headers {
        let name = HeaderName::from_bytes(header.name().as_bytes()).map_err(|_| failed("a header name"))?;
        let mut value = HeaderValue::from_str(header.value()).map_err(|_| failed("a header value"))?;
        // The session token stands in a header of its own, and a signature can be replayed for minutes.
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(())
}
