//! An HTTP origin that remembers what it was asked and answers as the test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Takes the request's head and answers; the connection is closed behind it.
type Answering = dyn Fn(&str, &mut TcpStream) + Send + Sync;

pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    /// Answers each request by `answering`, each on a thread of its own.
    pub(crate) fn new(answering: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let (answering, seen): (Arc<Answering>, _) = (Arc::new(answering), heads.clone());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let (answering, seen) = (answering.clone(), seen.clone());
                std::thread::spawn(move || {
                    let lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
                    let head = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
                    let head = head.collect::<Vec<_>>().join("\n");
                    seen.lock().expect("no test panics here").push(head.clone());
                    answering(&head, &mut stream);
                });
            }
        });
        Self { address, heads }
    }

    /// Answers everything with the same bytes.
    pub(crate) fn saying(answer: &'static str) -> Self {
        Self::new(move |_, stream| {
            // A visitor who went away is the test's affair.
            let _ = stream.write_all(answer.as_bytes());
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no test panics here").clone()
    }
}
