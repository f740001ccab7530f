//! A model on loopback that speaks Chat Completions, for agents measured over a real connection. It asks for the tool `look`
//! until the last call of a run, then says `done`. Both sides of the comparison include this file.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Starts it; what comes back is its address. A client names the calls of its run in the path: `{address}/50/v1`.
pub(crate) fn start() -> io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = format!("http://{}", listener.local_addr()?);
    let made = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let made = Arc::clone(&made);
            std::thread::spawn(move || serve(&connection, &made));
        }
    });
    Ok(address)
}

/// Answers the requests of one connection until it closes.
fn serve(connection: &TcpStream, made: &AtomicUsize) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(connection), connection);
    loop {
        let (mut line, mut calls, mut length) = (String::new(), None, 0);
        while reader.read_line(&mut line)? > 2 {
            if let Some(path) = line.strip_prefix("POST /") {
                calls = path.split('/').next().and_then(|calls| calls.parse().ok());
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let Some(calls) = calls else { return Ok(()) };
        io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
        let body = answer(made.fetch_add(1, Ordering::Relaxed) % calls + 1, calls);
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        writer.write_all((head + &body).as_bytes())?;
    }
}

fn answer(call: usize, calls: usize) -> String {
    let (message, reason) = if call == calls {
        (r#""content":"done""#.to_owned(), "stop")
    } else {
        let asked = format!(
            r#"{{"id":"c{call}","type":"function","function":{{"name":"look","arguments":"{{}}"}}}}"#
        );
        (format!(r#""content":null,"tool_calls":[{asked}]"#), "tool_calls")
    };
    format!(
        r#"{{"id":"r{call}","object":"chat.completion","created":1,"model":"served-1","choices":[{{"index":0,"message":{{"role":"assistant",{message}}},"finish_reason":"{reason}"}}],"usage":{{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}}}"#
    )
}
