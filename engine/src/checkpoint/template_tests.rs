#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use super::*;
use crate::checkpoint::Tokenizer;
use crate::region::Task;

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::parse("chat_template.jinja", source.to_owned()).unwrap()
}

fn fault(source: &str) -> String {
    match ChatTemplate::parse("chat_template.jinja", source.to_owned()) {
        Err(error) => error.to_string(),
        Ok(template) => template.render(Task::Text.prompt()).unwrap_err().to_string(),
    }
}

#[test]
fn conversations_are_rendered_as_in_the_reference() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let read = |name: &str| std::fs::read_to_string(fixtures.join(name)).unwrap();
    let template = template(&read("glm_ocr_tiny/chat_template.jinja"));
    let tokenizer = Tokenizer::parse("tokenizer.json", &read("glm_ocr_tiny/tokenizer.json")).unwrap();
    let cases: serde_json::Value = serde_json::from_str(&read("glm_ocr_cases/text_cases.json")).unwrap();
    let chats = cases["chats"].as_array().unwrap();
    assert!(chats.len() >= 6);
    for chat in chats {
        let thinking = chat["options"].get("enable_thinking").map(|value| value.as_bool().unwrap());
        let rendered = template.render_chat(&chat["messages"], thinking).unwrap();
        assert_eq!(rendered, chat["rendered"].as_str().unwrap());
        let ids: Vec<u32> = serde_json::from_value(chat["ids"].clone()).unwrap();
        assert_eq!(tokenizer.encode(&rendered).unwrap(), ids);
    }
    assert_eq!(
        template.render(Task::Table.prompt()).unwrap(),
        "[gMASK]<sop><|user|>\n<|begin_of_image|><|image|><|end_of_image|>Table Recognition:<|assistant|>\n"
    );
}

#[test]
fn blocks_are_trimmed_as_transformers_does() {
    let source = "  {% for m in messages %}\n<{{ m.role }}>\n  {% endfor %}\nend\n";
    assert_eq!(template(source).render(Task::Text.prompt()).unwrap(), "<user>\nend");
}

#[test]
fn python_methods_work() {
    let source = "{{ ' a-b '.strip().split('-')[-1].upper() }}{% if messages[0].role.startswith('us') %}!{% endif %}\
                  {% for k, v in messages[0].items() %}{% if k == 'content' %}{% break %}{% endif %}{% endfor %}";
    assert_eq!(template(source).render(Task::Text.prompt()).unwrap(), "B!");
}

#[test]
fn faults_are_told_in_a_sentence() {
    assert_eq!(
        fault("\n{{ raise_exception('no images, please') }}"),
        "chat_template.jinja: the chat template fails in line 2: no images, please"
    );
    assert!(fault("{% if %}").starts_with("chat_template.jinja: the chat template fails in line 1: "));
    assert!(fault("{{ strftime_now('%d') }}").contains("strftime_now"));
    assert_eq!(
        fault(&" ".repeat((1 << 20) + 1)),
        "chat_template.jinja is too large to be what its name says (more than 1 MB)"
    );
}

#[test]
fn hostile_templates_end() {
    let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
    assert_eq!(fault(loops), "chat_template.jinja: the chat template does not come to an end");
    let doubling = format!("{{% set s = 'xxxxxxxx' %}}{}{{{{ s }}}}", "{% set s = s ~ s %}".repeat(60));
    assert_eq!(fault(&doubling), "chat_template.jinja: the chat template does not come to an end");
    fault("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    fault(&format!("{{{{ {} }}}}", "(".repeat(200_000)));
    fault(&"{% if true %}".repeat(50_000));
}
