//! Spans to a collector over OTLP (HTTP, protobuf).

use std::time::Duration;

use agentfootprint_core::injection::BoxError;
use agentfootprint_core::observe::SinkConfigError;
use async_trait::async_trait;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::{OtelOptions, OtelSink, SpanShipper};

#[async_trait]
impl SpanShipper for SdkTracerProvider {
    async fn flush(&self) -> Result<(), BoxError> {
        let provider = self.clone();
        // It waits for its own thread.
        tokio::task::spawn_blocking(move || provider.force_flush()).await??;
        Ok(())
    }

    fn stop(&self) {
        let provider = self.clone();
        let end = move || {
            // What could not be shipped at the end is told by the provider's own log; there is no later to try again.
            let _ = provider.shutdown_with_timeout(Duration::from_secs(5));
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(end)),
            Err(_) => end(),
        }
    }
}

impl OtelSink {
    /// Makes spans with a provider of the SDK, and flushes and stops it with the sink.
    ///
    /// # Errors
    /// As [`OtelSink::new`].
    pub fn over(options: OtelOptions, provider: SdkTracerProvider) -> Result<Self, SinkConfigError> {
        Ok(Self::new(options, provider.tracer("agentfootprint"))?.shipped_by(provider))
    }

    /// Ships spans in batches to a collector.
    ///
    /// ```
    /// use agentfootprint_telemetry::otel::{OtelOptions, OtelSink};
    /// let options = OtelOptions::new("support").gen_ai_span_names(true);
    /// let sink = OtelSink::otlp(options, "http://localhost:4318/v1/traces")?; // connects when it ships
    /// # let _ = sink;
    /// # Ok::<(), agentfootprint_telemetry::SinkConfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`SinkConfigError`] when the service name is blank or the endpoint is no address.
    pub fn otlp(options: OtelOptions, endpoint: &str) -> Result<Self, SinkConfigError> {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .build()
            .map_err(|error| {
                SinkConfigError::new(
                    "endpoint",
                    format!("`{endpoint}` ({error})"),
                    "the address of a collector",
                )
            })?;
        let resource = Resource::builder().with_service_name(options.service_name.clone()).build();
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        Self::over(options, provider)
    }
}
