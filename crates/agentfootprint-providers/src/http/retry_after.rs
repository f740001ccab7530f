use std::time::Duration;

use reqwest::header::HeaderMap;

/// The wait a response states: `retry-after-ms` in milliseconds, else `retry-after` in seconds or as a date.
/// What cannot be read is absent.
///
/// ```
/// use std::time::Duration;
/// use agentfootprint_providers::http::{HeaderMap, stated_wait};
///
/// let mut headers = HeaderMap::new();
/// headers.insert("Retry-After", "4".parse().unwrap());
/// assert_eq!(stated_wait(&headers, 0), Some(Duration::from_secs(4)));
/// ```
pub fn stated_wait(headers: &HeaderMap, now_ms: u64) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|ms| duration(ms, 1e-3)) {
        return Some(wait);
    }
    let stated = text("retry-after")?;
    duration(stated, 1.0).or_else(|| {
        let at = httpdate::parse_http_date(stated).ok()?;
        let now = std::time::UNIX_EPOCH + Duration::from_millis(now_ms);
        Some(at.duration_since(now).unwrap_or(Duration::ZERO))
    })
}

fn duration(text: &str, unit_seconds: f64) -> Option<Duration> {
    let amount: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(amount * unit_seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pairs: &[(&'static str, &str)], now_ms: u64) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        stated_wait(&headers, now_ms)
    }

    /// Proves LLM-38.
    #[test]
    fn milliseconds_first_then_seconds_then_a_date() {
        assert_eq!(
            wait(&[("retry-after-ms", "1500"), ("retry-after", "9")], 0),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(wait(&[("retry-after", " 9 ")], 0), Some(Duration::from_secs(9)));
        assert_eq!(wait(&[("retry-after", "0.5")], 0), Some(Duration::from_millis(500)));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let at_ms = 784_111_777_000;
        assert_eq!(wait(&[("retry-after", date)], at_ms - 3_000), Some(Duration::from_secs(3)));
        assert_eq!(wait(&[("retry-after", date)], at_ms + 3_000), Some(Duration::ZERO));
        assert_eq!(
            wait(&[("retry-after-ms", "soon"), ("retry-after", "2")], 0),
            Some(Duration::from_secs(2))
        );
        for unreadable in ["soon", "-3", "NaN", "inf", "1e300", ""] {
            assert_eq!(wait(&[("retry-after", unreadable)], 0), None, "{unreadable}");
        }
        assert_eq!(wait(&[], 0), None);
    }
}
