//! What a Korean dictionary makes of a text: `morphemes FOLDER TEXT…`, where the folder has
//! the unpacked dictionary, or the wheel that is unpacked there.

use std::path::Path;

use search::text::{Korean, Morphemes, PACK_NAME, unpack};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("morphemes FOLDER TEXT…")?;
    let folder = Path::new(&folder);
    let wheel = folder.join(PACK_NAME);
    let unpacked = folder.join("ko");
    if wheel.exists() && !unpacked.exists() {
        unpack(&wheel, &unpacked)?;
    }
    let korean = Korean::open(if unpacked.exists() { &unpacked } else { folder })?;
    for text in arguments {
        for one in korean.analyse(&text) {
            let parts: Vec<_> =
                one.parts.iter().map(|part| format!("{}/{}", part.text, part.tag)).collect();
            println!("{}/{} {}", &text[one.from..one.to], one.tag, parts.join("+"));
        }
    }
    Ok(())
}
