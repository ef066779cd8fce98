<?php
/*
 * Text: what members write, as HTML that can do no harm.
 */
if (!defined('BOARD')) {
    exit;
}

function escape($text)
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

/* Paragraphs, quotes (lines that begin with >), *emphasis* and links. */
function format_post($body)
{
    $html = '';
    foreach (preg_split('/\R{2,}/', trim($body)) as $part) {
        $is_quote = preg_match('/^(>.*(\R|$))+$/', $part) === 1;
        $text = escape($is_quote ? preg_replace('/^> ?/m', '', $part) : $part);
        $text = preg_replace('/\*([^*\r\n]+)\*/', '<em>$1</em>', $text);
        $text = preg_replace(
            '#\bhttps?://(?:&amp;|[^\s<>&"\'])+#',
            '<a href="$0" rel="nofollow ugc">$0</a>',
            $text
        );
        $text = nl2br($text, false);
        $html .= $is_quote ? "<blockquote><p>$text</p></blockquote>\n" : "<p>$text</p>\n";
    }
    return $html;
}

function date_tag($time)
{
    return '<time datetime="' . gmdate('Y-m-d\TH:i:s\Z', $time) . '">' . gmdate('j M Y, H:i', $time) . '</time>';
}

function excerpt($body, $length = 160)
{
    $line = trim(preg_replace('/\s+/', ' ', $body));
    return strlen($line) <= $length ? $line : preg_replace('/\s+\S*$/', '', substr($line, 0, $length)) . ' …';
}
