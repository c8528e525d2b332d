//! Read on images, notebooks and PDF files.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use robota_core::Part;
use serde_json::json;

use crate::session::Session;

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn pixel() -> Vec<u8> {
    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, PIXEL).unwrap()
}

/// A PDF whose pages have these content streams.
fn pdf(pages: &[&[u8]], filter: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 3 + 2 * page)).collect();
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{}]/Count {}>>", kids.join(" "), pages.len()).into_bytes(),
    ];
    for (at, content) in pages.iter().enumerate() {
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {} 0 R/Resources<</Font<</F1<</Type/Font\
             /Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
            4 + 2 * at
        );
        objects.push(page.into_bytes());
        let head = format!("<</Length {}{filter}>>stream\n", content.len());
        objects.push([head.as_bytes(), content, b"\nendstream"].concat());
    }
    pdf_of(&objects)
}

/// A PDF of these objects, the first of which is the root.
fn pdf_of(objects: &[Vec<u8>]) -> Vec<u8> {
    let (mut file, mut offsets) = (b"%PDF-1.4\n".to_vec(), Vec::new());
    for (at, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend([format!("{} 0 obj\n", at + 1).as_bytes(), object, b"\nendobj\n"].concat());
    }
    let (start, count) = (file.len(), offsets.len() + 1);
    file.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    file.extend(offsets.iter().flat_map(|offset| format!("{offset:010} 00000 n \n").into_bytes()));
    file.extend(format!("trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n").bytes());
    file
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn page(number: usize) -> Vec<u8> {
    format!("BT /F1 12 Tf 72 700 Td (Page {number}) Tj 60 0 Td (is here) Tj -60 -14 Td [(w)-20(ide)-600(gap)] TJ ET")
        .into_bytes()
}

#[tokio::test]
async fn an_image_is_a_part_of_its_own() {
    let session = Session::new();
    session.put("dot.jpg", pixel());
    let outcome = session.call("Read", json!({"filePath": "dot.jpg"})).await;
    assert_eq!(outcome.content, "dot.jpg: image (image/png, 1x1 pixels, 70 bytes)");
    let part = Part::ImageInline { mime_type: "image/png".to_owned(), data: PIXEL.to_owned() };
    assert_eq!(outcome.parts, [part]);
    let facts = json!({"type": "image", "mimeType": "image/png", "bytes": 70, "width": 1, "height": 1});
    assert_eq!(outcome.structured.unwrap(), facts);

    session.put("broken.png", b"\x89PNG\r\n\x1A\n\0rest");
    assert_eq!(session.refused("Read", json!({"filePath": "broken.png"})).await.0, "broken_image");
    session.put("heavy.gif", [b"GIF89a\x09\0\x09\0".as_slice(), &vec![0; 4_000_000]].concat());
    session.put("wide.gif", b"GIF89a\xFF\xFF\x09\0");
    for name in ["heavy.gif", "wide.gif"] {
        assert_eq!(session.refused("Read", json!({"filePath": name})).await.0, "too_large");
    }
    session.put("a.svg", "<svg/>");
    assert_eq!(session.ok("Read", json!({"filePath": "a.svg"})).await, "1\t<svg/>");
}

#[tokio::test]
async fn a_notebook_is_shown_as_cells() {
    let session = Session::new();
    let cells: Vec<_> = (1..=3)
        .map(|at| {
            json!({"cell_type": "code", "execution_count": at, "source": [format!("a = {at}\n"), "a"],
            "outputs": [{"output_type": "execute_result", "data": {"text/plain": [at.to_string()], "image/png": PIXEL}}]})
        })
        .collect();
    session.put("a.ipynb", json!({"nbformat": 4, "cells": cells}).to_string());
    let outcome = session.call("Read", json!({"filePath": "a.ipynb", "offset": 2, "limit": 1})).await;
    assert_eq!(
        outcome.content,
        "--- cell 2: code, run 2 ---\na = 2\na\n[output]\n2\n[image/png: shown as an image]\n[1 more cells follow: use \
         offset 3]"
    );
    assert_eq!(outcome.parts.len(), 1);
    let facts = json!({"type": "notebook", "startCell": 2, "cells": 1, "totalCells": 3});
    assert_eq!(outcome.structured.unwrap(), facts);
    session.ok("Edit", json!({"filePath": "a.ipynb", "oldString": "a = 3", "newString": "b = 3"})).await;
    assert_eq!(
        session.refused("Read", json!({"filePath": "a.ipynb", "offset": 4})).await,
        ("beyond_end", "a.ipynb has only 3 cells; there is no cell 4".to_owned())
    );
    session.put("broken.ipynb", "{\"cells\": [");
    assert_eq!(session.ok("Read", json!({"filePath": "broken.ipynb"})).await, "1\t{\"cells\": [");
}

#[tokio::test]
async fn a_pdf_comes_page_by_page() {
    let session = Session::new();
    let pages: Vec<Vec<u8>> = (1..=45).map(page).collect();
    let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    session.put("a.pdf", pdf(&pages, ""));
    let one = session.call("Read", json!({"filePath": "a.pdf", "pages": "3"})).await;
    let text = "--- page 3 of 45 ---\nPage 3 is here\nwide gap\n\n[45 pages in all: use pages 4-13]";
    assert_eq!(one.content, text);
    assert_eq!(
        one.structured.unwrap(),
        json!({"type": "pdf", "firstPage": 3, "lastPage": 3, "totalPages": 45})
    );
    let first = session.ok("Read", json!({"filePath": "a.pdf"})).await;
    assert!(first.contains("--- page 20 of 45 ---") && !first.contains("--- page 21"), "{first}");
    assert!(first.ends_with("[45 pages in all: use pages 21-30]"), "{first}");
    let last = session.ok("Read", json!({"filePath": "a.pdf", "pages": "44-60"})).await;
    assert!(last.ends_with("--- page 45 of 45 ---\nPage 45 is here\nwide gap"), "{last}");
    for (pages, code) in [
        ("1-21", "invalid_argument"),
        ("0", "invalid_argument"),
        ("x", "invalid_argument"),
        ("46", "beyond_end"),
    ] {
        assert_eq!(
            session.refused("Read", json!({"filePath": "a.pdf", "pages": pages})).await.0,
            code,
            "{pages}"
        );
    }
}

#[tokio::test]
async fn a_pdf_without_text_and_one_with_too_much_say_so() {
    let session = Session::new();
    session.put("drawn.pdf", pdf(&[b"0 0 100 100 re f"], ""));
    let drawn = session.ok("Read", json!({"filePath": "drawn.pdf"})).await;
    assert!(
        drawn.starts_with("--- page 1 of 1 ---\n(no text on this page)\n\n[no text on these pages"),
        "{drawn}"
    );

    let much =
        ["BT /F1 12 Tf 14 TL 72 700 Td ", &"(some words on a line) Tj T* ".repeat(3_000), "ET"].concat();
    let content = deflated(much.as_bytes());
    session.put("much.pdf", pdf(&[&content, &content], "/Filter/FlateDecode"));
    let shown = session.ok("Read", json!({"filePath": "much.pdf"})).await;
    assert!(shown.chars().count() <= 30_000);
    let end = "[page 1 is cut here; for all of it: pdftotext -f 1 -l 1 'much.pdf' -]\n[2 pages in all: use pages 2-2]";
    assert!(shown.ends_with(end), "{}", &shown[shown.len() - 200..]);
}

#[tokio::test]
async fn a_pdf_that_means_harm_is_refused() {
    let session = Session::new();
    let bomb = deflated(&vec![b' '; 200 * 1024 * 1024]);
    let cases = [
        (pdf(&[&bomb], "/Filter/FlateDecode"), "unpacks to far more"),
        (pdf(&[&deflated(&bomb)], "/Filter[/FlateDecode/FlateDecode]"), "unpacks to far more"),
        (pdf(&[&vec![b'x'; 300_000]], "/Filter/L#5AWDecode"), "unpacks to far more"),
        (b"%PDF-1.7\nnothing else".to_vec(), "too damaged"),
    ];
    for (content, reason) in cases {
        session.put("bad.pdf", content);
        let (code, text) = session.refused("Read", json!({"filePath": "bad.pdf"})).await;
        assert_eq!(code, "unreadable_pdf");
        assert!(text.starts_with("cannot read bad.pdf as PDF: it ") && text.contains(reason), "{text}");
    }
}

#[tokio::test]
async fn a_pdf_nested_without_end_exhausts_no_stack() {
    let session = Session::new();
    let nested = ["{".repeat(300_000), "}".repeat(300_000)].concat();
    let program = format!(
        "9 0 obj\n<</FunctionType 4/Domain[0 1]/Range[0 1]/Length {}>>stream\n{nested}\nendstream\nendobj\n",
        nested.len()
    );
    let content = "/C cs 1 scn 0 0 9 9 re f BT /F1 12 Tf (still here) Tj ET ";
    let deep = [content, &"[".repeat(300_000), &"<<".repeat(300_000), &"q ".repeat(10_000)].concat();
    let file = String::from_utf8(pdf(&[deep.as_bytes()], "")).unwrap();
    let file = file.replacen("%PDF-1.4\n", &format!("%PDF-1.4\n{program}"), 1);
    let colour = "/Resources<</ColorSpace<</C[/Separation/A/DeviceGray 9 0 R]>>";
    session.put("deep.pdf", file.replacen("/Resources<<", colour, 1));
    let text = session.ok("Read", json!({"filePath": "deep.pdf"})).await;
    assert_eq!(text, "--- page 1 of 1 ---\nstill here");
}

/// A page whose colour space is object 5, the first of `more`.
fn coloured(more: &[String]) -> Vec<u8> {
    let content = "/C cs 1 scn 0 0 9 9 re f BT /F1 12 Tf (still here) Tj ET";
    let first = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</ColorSpace<</C 5 0 R>>\
         /Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
            .to_owned(),
        format!("<</Length {}>>stream\n{content}\nendstream", content.len()),
    ];
    let objects: Vec<Vec<u8>> = first.iter().chain(more).map(|object| object.clone().into_bytes()).collect();
    pdf_of(&objects)
}

#[tokio::test]
async fn a_pdf_whose_objects_stand_on_each_other_without_end_exhausts_no_stack() {
    let session = Session::new();
    let one = |text: &str| vec![text.to_owned()];
    let chain = |count: usize| -> Vec<String> {
        let links = (5..5 + count).map(|at| format!("[/Pattern {} 0 R]", at + 1));
        links.chain(one("/DeviceGray")).collect()
    };
    let nested =
        |count: usize| ["[/Pattern ".repeat(count), "/DeviceGray".into(), "]".repeat(count)].concat();
    for (case, objects) in [("chain", chain(20_000)), ("circle", one("[/Pattern [/Indexed 5 0 R 1 <00>]]"))] {
        session.put("deep.pdf", coloured(&objects));
        let (code, text) = session.refused("Read", json!({"filePath": "deep.pdf"})).await;
        assert!(
            code == "unreadable_pdf" && text.contains("stand on each other without end"),
            "{case}: {text}"
        );
    }
    for objects in [chain(250), one(&nested(500)), one("[/Indexed/DeviceGray 1 <0000>]")] {
        session.put("fine.pdf", coloured(&objects));
        let text = session.ok("Read", json!({"filePath": "fine.pdf"})).await;
        assert_eq!(text, "--- page 1 of 1 ---\nstill here");
    }
}

#[tokio::test]
async fn damaged_pdf_files_give_text_or_a_reason_and_nothing_else() {
    let session = Session::new();
    let whole = pdf(&[&page(1), &deflated(&page(2))], "");
    let mut state = 7_u32;
    let mut next = |most: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as usize % most
    };
    for round in 0..120 {
        let mut bytes = whole.clone();
        if round % 3 == 0 {
            bytes.truncate(next(whole.len() - 8) + 8);
        } else {
            for _ in 0..=next(20) {
                let at = 8 + next(bytes.len() - 8);
                bytes[at] = b"0123456789<>[]/R \n\xFF("[next(20)];
            }
        }
        session.put("a.pdf", &bytes);
        let outcome = session.call("Read", json!({"filePath": "a.pdf"})).await;
        let expected = [None, Some("unreadable_pdf"), Some("encrypted")];
        assert!(expected.contains(&outcome.error_code), "round {round}: {}", outcome.content);
        assert!(!outcome.content.contains("the reader failed"), "round {round} made the reader panic");
    }
}
