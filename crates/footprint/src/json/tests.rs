use proptest::prelude::*;

use super::*;
use crate::value;
use crate::value::Value;

fn parse(text: &str) -> Result<Value, JsonErrorKind> {
    let mut reader = JsonReader::new(text.as_bytes());
    reader.read_value().and_then(|value| reader.finish().map(|()| value)).map_err(|error| error.kind)
}

#[test]
fn texts_that_are_json_are_read() {
    for (text, value) in [
        (" null ", Value::Null),
        ("[ ]", value!([])),
        ("{ }", value!({})),
        ("[1,-2 , 3.5e2]", value!([1, -2, 350])),
        ("-0", value!(0)),
        ("18446744073709551615", value!(u64::MAX)),
        ("-9223372036854775808", value!(i64::MIN)),
        ("1e400000000000".get(..4).unwrap(), value!(1e40)),
        (r#""\u00e9\n\"\\\/\ud83d\ude00""#, value!("é\n\"\\/😀")),
        (r#"{"a":{"a":[{"b":null}]},"a2":true}"#, value!({ "a": { "a": [{ "b": null }] }, "a2": true })),
        (r#"{"a":1,"a":2}"#, value!({ "a": 2 })),
    ] {
        assert_eq!(parse(text), Ok(value), "{text}");
    }
}

#[test]
fn texts_that_are_not_json_are_refused() {
    for text in [
        "",
        " ",
        "nul",
        "tru",
        "+1",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u+123\"",
        "\"a\nb\"",
        "[1]]",
        "1 2",
        "{\"a\":1]",
        "[1}",
        "NaN",
        "Infinity",
        "'a'",
        "1e999",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(parse("[1] x"), Err(JsonErrorKind::TrailingText));
    assert_eq!(parse("[1"), Err(JsonErrorKind::UnexpectedEnd));
    let bad_utf8 = JsonReader::new(b"\"a\xff\"").read_value().unwrap_err();
    assert_eq!(bad_utf8, JsonError { offset: 2, kind: JsonErrorKind::InvalidUtf8 });
}

/// Proves ENG-145: half a surrogate pair, as JavaScript writes a text cut in the middle, does not lose the rest.
#[test]
fn half_a_surrogate_pair_reads_as_the_replacement_character() {
    assert_eq!(parse(r#""a\ud83d""#), Ok(value!("a\u{fffd}")));
    assert_eq!(parse(r#""\ud83dx""#), Ok(value!("\u{fffd}x")));
    assert_eq!(parse(r#""\ude00\ud83d\n""#), Ok(value!("\u{fffd}\u{fffd}\n")));
    assert_eq!(parse(r#""\ud83d\ud83d\ude00""#), Ok(value!("\u{fffd}😀")));
}

/// Proves ENG-145, ENG-164.
#[test]
fn depth_costs_no_stack() {
    const DEPTH: usize = 100_000;
    let mut text = String::new();
    let mut writer = JsonWriter::new(&mut text);
    for n in 0..DEPTH {
        writer.begin_object();
        writer.key("id");
        writer.uint(n as u64);
        writer.key("next");
    }
    writer.null();
    for _ in 0..DEPTH {
        writer.end_object();
    }

    let check = move || {
        let mut reader = JsonReader::new(text.as_bytes());
        let mut ids = Vec::new();
        while reader.peek().unwrap() == TokenKind::Object {
            reader.begin_object().unwrap();
            assert_eq!(reader.next_key().unwrap().as_deref(), Some("id"));
            ids.push(reader.read_number().unwrap().as_u64().unwrap());
            assert_eq!(reader.next_key().unwrap().as_deref(), Some("next"));
        }
        reader.read_null().unwrap();
        assert_eq!(reader.depth(), DEPTH);
        for _ in 0..DEPTH {
            assert_eq!(reader.next_key().unwrap(), None);
        }
        reader.finish().unwrap();
        assert!(ids.iter().copied().eq(0..DEPTH as u64));

        let mut skipping = JsonReader::new(text.as_bytes());
        skipping.skip_value().unwrap();
        skipping.finish().unwrap();
    };
    // Far less than one byte of stack per level.
    std::thread::Builder::new().stack_size(128 * 1024).spawn(check).unwrap().join().unwrap();
}

#[test]
fn limits_refuse_what_is_larger() {
    let limits = Limits { max_bytes: 10, max_depth: 2 };
    let read = |text: &str| JsonReader::with_limits(text.as_bytes(), limits).read_value().map_err(|e| e.kind);
    assert!(read("[[1]]").is_ok());
    assert_eq!(read("[[[1]]]"), Err(JsonErrorKind::TooDeep { limit: 2 }));
    assert_eq!(read("[1,2,3,4,5,6]"), Err(JsonErrorKind::TooLong { limit: 10 }));
}

#[test]
fn calls_that_do_not_fit_are_errors_not_panics() {
    let mut reader = JsonReader::new(b"{\"a\":[1]}");
    assert!(reader.next_key().is_err());
    assert!(matches!(
        reader.begin_array().unwrap_err().kind,
        JsonErrorKind::WrongKind { expected: "an array", found: "an object" }
    ));
    reader.begin_object().unwrap();
    assert!(reader.next_item().is_err());
    assert!(reader.read_value().is_err());
    assert_eq!(reader.next_key().unwrap().as_deref(), Some("a"));
    reader.skip_value().unwrap();
    assert_eq!(reader.next_key().unwrap(), None);
    assert_eq!(reader.next_token().unwrap(), Token::End);
}

/// Proves ENG-164: a value as deep as a recording may hold is built, compared, printed and dropped on a small stack.
#[test]
fn recorded_values_may_be_deeper_than_written_ones() {
    let check = || {
        let text = format!("{}{}", "[".repeat(RECORDED_DEPTH), "]".repeat(RECORDED_DEPTH));
        let (a, b) = (parse(&text).unwrap(), parse(&text).unwrap());
        assert_eq!(a, b);
        assert_eq!(a.to_string(), text);
        assert!(text.parse::<Value>().is_err());
        assert_eq!(parse(&format!("[{text}]")), Err(JsonErrorKind::TooDeep { limit: RECORDED_DEPTH }));
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn a_sink_reports_the_first_failure() {
    let mut small = [0u8; 4];
    let mut writer = JsonWriter::new(IoSink::new(&mut small[..]));
    writer.value(&value!(["does not fit"]));
    assert!(writer.into_sink().finish().is_err());
}

#[test]
fn display_texts_are_escaped_while_they_are_written() {
    let mut text = String::new();
    let mut writer = JsonWriter::new(&mut text);
    writer.begin_array();
    writer.text(&format_args!("a\"{}\n", 1));
    writer.raw("{}");
    writer.bool(false);
    writer.string("\u{8}\u{c}\t\r\u{1f}\u{7f}/é");
    writer.end_array();
    assert_eq!(text, "[\"a\\\"1\\n\",{},false,\"\\b\\f\\t\\r\\u001f\u{7f}/é\"]");
}

/// The tokens of a text, as one line each.
fn tokens(text: &str) -> Result<Vec<String>, JsonError> {
    let mut reader = JsonReader::new(text.as_bytes());
    let mut seen = Vec::new();
    loop {
        match reader.next_token()? {
            Token::End => return reader.finish().map(|()| seen),
            token => seen.push(format!("{token:?}")),
        }
    }
}

#[test]
fn tokens_come_in_document_order() {
    let seen = tokens(r#"{"a":[1,"x"],"b":{}}"#).unwrap();
    assert_eq!(
        seen,
        [
            "BeginObject",
            "Key(\"a\")",
            "BeginArray",
            "Number(1)",
            "String(\"x\")",
            "EndArray",
            "Key(\"b\")",
            "BeginObject",
            "EndObject",
            "EndObject"
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Proves ENG-145.
    #[test]
    fn whatever_is_written_reads_back_and_agrees_with_serde_json(value in crate::value::tests::any_value()) {
        let mut text = String::new();
        JsonWriter::new(&mut text).value(&value);
        prop_assert_eq!(&parse(&text).unwrap(), &value);
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value.to_json());
        let pretty = serde_json::to_string_pretty(&value.to_json()).unwrap();
        prop_assert_eq!(&parse(&pretty).unwrap(), &value);
        prop_assert!(tokens(&text).is_ok());
    }

    /// Text of any kind gives a value or an error, and the same verdict as serde_json except for half surrogates.
    #[test]
    fn any_text_is_read_or_refused(text in r#"[\[\]{}:,"0-9a-c.eE+\\u -]{0,24}"#) {
        let ours = parse(&text);
        match serde_json::from_str::<serde_json::Value>(&text) {
            // serde_json may miss the last digit of a double, so long numbers are only compared by verdict.
            Ok(theirs) if text.len() < 16 => prop_assert_eq!(ours.unwrap(), Value::from(theirs)),
            Ok(_) => prop_assert!(ours.is_ok()),
            Err(_) if text.contains("\\u") => {}
            Err(error) => prop_assert!(ours.is_err(), "{} should be refused: {}", text, error),
        }
        let mut skipping = JsonReader::new(text.as_bytes());
        let _verdict = skipping.skip_value();
        let _verdict = tokens(&text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _verdict = JsonReader::new(&bytes).read_value();
        let _verdict = JsonReader::new(&bytes).skip_value();
    }
}

/// A sink that takes texts of more than three letters, and foreign JSON, itself.
#[derive(Default)]
struct Taking {
    text: String,
    taken: Vec<String>,
}

impl JsonSink for Taking {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn put_value(&mut self, value: &Value) -> bool {
        let takes = value.as_str().is_some_and(|text| text.len() > 3);
        if takes {
            self.taken.push(value.to_string());
            self.text.push('#');
        }
        takes
    }

    fn put_raw(&mut self, json: &str) -> bool {
        self.taken.push(json.to_owned());
        self.text.push('#');
        true
    }
}

#[test]
fn a_sink_may_take_whole_values() {
    let mut sink = Taking::default();
    let mut out = JsonWriter::new(&mut sink);
    out.begin_array();
    out.value(&value!(["a", "long", "b", { "k": "longer", "l": ["x"] }, "long"]));
    out.raw("[1]");
    out.value(&value!("more"));
    out.end_array();
    assert_eq!(sink.text, r##"[["a",#,"b",{"k":#,"l":["x"]},#],#,#]"##);
    assert_eq!(sink.taken, [r#""long""#, r#""longer""#, r#""long""#, "[1]", r#""more""#]);
}

/// A reader of the last part of a text that is a list of parts and what points at them.
fn with_pool<T>(text: &str, read: impl FnOnce(&mut JsonReader<'_>) -> T) -> T {
    let mut outer = JsonReader::new(text.as_bytes());
    outer.begin_array().unwrap();
    assert!(outer.next_item().unwrap());
    let pool = Pool::new(&outer.next_raw().unwrap(), Dialect::Lists, 1 << 20, 1 << 20).unwrap();
    outer.skip_value().unwrap();
    assert!(outer.next_item().unwrap());
    let raw = outer.next_raw().unwrap();
    read(&mut JsonReader::of(&raw, Some(&pool)))
}

#[test]
fn pointers_are_followed_call_by_call() {
    let text = r#"[[{"n":{"$af:ref":1}},[1,2],"s",true],
        {"a":{"$af:ref":0},"b":{"$af:ref":2},"c":{"$af:list":[1,1,{"$af:ref":3}]},"d":{"$af:esc":{"$af:ref":null}},"e":{"$af:ref":1}}]"#;
    with_pool(text, |reader| {
        reader.begin_object().unwrap();
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("a"));
        assert_eq!(reader.peek().unwrap(), TokenKind::Object);
        reader.begin_object().unwrap();
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("n"));
        reader.begin_array().unwrap();
        assert!(reader.next_item().unwrap());
        assert_eq!(reader.read_value().unwrap(), value!(1));
        assert!(reader.next_item().unwrap());
        reader.skip_value().unwrap();
        assert!(!reader.next_item().unwrap());
        assert_eq!(reader.next_key().unwrap(), None);
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("b"));
        assert_eq!(reader.read_string().unwrap(), "s");
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("c"));
        assert_eq!(reader.peek().unwrap(), TokenKind::Array);
        reader.begin_array().unwrap();
        assert!(reader.next_item().unwrap());
        reader.skip_value().unwrap();
        assert!(reader.next_item().unwrap());
        assert!(reader.read_bool().unwrap());
        assert!(!reader.next_item().unwrap());
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("d"));
        reader.begin_object().unwrap();
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("$af:ref"));
        reader.read_null().unwrap();
        assert_eq!(reader.next_key().unwrap(), None);
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("e"));
        let raw = reader.next_raw().unwrap();
        assert_eq!((raw.text(), raw.is_literal()), (&br#"{"$af:ref":1}"#[..], false));
        assert_eq!(&*reader.text_of(&raw).unwrap(), b"[1,2]");
        reader.skip_value().unwrap();
        assert_eq!(reader.next_key().unwrap(), None);
    });
    let copied = with_pool(text, |reader| {
        let mut text = String::new();
        reader.copy_value(&mut JsonWriter::new(&mut text)).unwrap();
        text
    });
    assert_eq!(copied, r#"{"a":{"n":[1,2]},"b":"s","c":[1,true],"d":{"$af:ref":null},"e":[1,2]}"#);
    assert_eq!(with_pool(text, |reader| reader.read_value()).unwrap(), copied.parse::<Value>().unwrap());
}

#[test]
fn a_part_that_many_point_at_is_made_once() {
    let value = with_pool(
        r#"[[["x"],{"$af:list":[0,1,1]}],[{"$af:ref":1},{"$af:ref":1},{"$af:ref":0}]]"#,
        |reader| reader.read_value().unwrap(),
    );
    assert!(value[0].ptr_eq(&value[1]));
    assert!(value[0][0].ptr_eq(&value[2][0]));
    assert_eq!(value.to_string(), r#"[["x",1],["x",1],["x"]]"#);
}

/// Proves ENG-164: a value that only pointers make deep is refused like any other, without recursion.
#[test]
fn deep_parts_are_refused() {
    let parts: Vec<String> = (0..5000)
        .map(|n| if n == 0 { "[]".to_owned() } else { format!(r#"[{{"$af:ref":{}}}]"#, n - 1) })
        .collect();
    let text = format!(r#"[[{}],{{"$af:ref":4999}}]"#, parts.join(","));
    let error = with_pool(&text, |reader| reader.read_value()).unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::TooDeep { limit: RECORDED_DEPTH });
    let copied = with_pool(&text, |reader| {
        let mut text = String::new();
        reader.copy_value(&mut JsonWriter::new(&mut text)).map(|()| text.len())
    });
    assert_eq!(copied, Ok(10_000));
}

proptest! {
    /// Bytes looked at eight at a time are those looked at one by one.
    #[test]
    fn plain_bytes_are_counted_as_one_by_one(
        bytes in proptest::collection::vec(
            prop_oneof![8 => any::<u8>(), 1 => 0x1e_u8..0x24, 1 => Just(b'"'), 1 => Just(b'\\'), 16 => Just(b'a')],
            0..40,
        )
    ) {
        let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
        let expected = bytes.iter().position(special).unwrap_or(bytes.len());
        prop_assert_eq!(scan::plain_len(&bytes), expected);
    }
}
