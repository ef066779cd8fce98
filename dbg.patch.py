p='/tmp/p3/crates/server/src/strangers/verify.rs'; s=open(p).read()
s=s.replace('''        if !is_about_texts || again.len() >= SAMPLES_MAX {
            return judged;''','''        if !is_about_texts || again.len() >= SAMPLES_MAX {
            if let Err(Refusal::Asker) = &judged {
                let id = brief.server.clock.now().ticks_ms;
                let _ = std::fs::write(format!("/tmp/p3dbg/{id}-asker"), asker.as_ref().map(|a| format!("{a:?}")).unwrap_or_default());
                let _ = std::fs::write(format!("/tmp/p3dbg/{id}-one"), &one.page.body);
                let _ = std::fs::write(format!("/tmp/p3dbg/{id}-other"), &other.page.body);
            }
            return judged;''')
open(p,'w').write(s)
