//! Prints the posts that the other examples work on, each ended by a NUL.

mod forum;

fn main() {
    for post in forum::posts(2_000) {
        print!("{post}\0");
    }
}
