//! `mcp`: recordings for a debugging model, over the Model Context Protocol (REC-163).
//!
//! Read-only. Files are named on the command line and read before the first request: a client can name recordings, never files.

mod resources;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agentfootprint::debug::toolpack::TraceTools;
use clap::Args;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::block_on;
use crate::input::{Reading, recording_of};
use crate::out::Failure;
use crate::serve::listen;

use server::{Catalog, Server};

#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// The recordings.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Streamable HTTP on this machine, on this port or a free one, instead of standard input and output.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    http: Option<u16>,
    /// Reads files up to this size (default 512 MiB).
    #[arg(long)]
    max_bytes: Option<usize>,
}

pub(crate) fn mcp(args: &McpArgs) -> Result<ExitCode, Failure> {
    if args.http.is_none() && args.files.iter().any(|file| file == std::path::Path::new("-")) {
        return Err(Failure::unusable("standard input is the protocol's; name the recording by its path"));
    }
    let mut recordings = Vec::new();
    for file in &args.files {
        let opened = recording_of(file, Reading { max_bytes: args.max_bytes, run: None })?;
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        recordings.push((stem, TraceTools::new(opened)));
    }
    let server = Server::new(Catalog::new(recordings));
    match args.http {
        None => block_on(stdio(server)),
        Some(port) => block_on(http(server, port)),
    }
}

async fn stdio(server: Server) -> Result<ExitCode, Failure> {
    let failed = |error: String| Failure::failed(format!("the protocol failed: {error}"));
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // A client that leaves before it introduced itself.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(ExitCode::SUCCESS),
        Err(error) => return Err(failed(error.to_string())),
    };
    running.waiting().await.map_err(|error| failed(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// Standard output stays free: where it listens is said on standard error.
async fn http(server: Server, port: u16) -> Result<ExitCode, Failure> {
    let (listener, address) = listen(port).await?;
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("http://{address}/mcp\n").as_bytes());
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            // A client that goes away is no failure of ours.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
