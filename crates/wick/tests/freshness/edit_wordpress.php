<?php
// WordPress on the command line, in the folder $argv[1]. Reads an order a line, a word, a
// number and words with tabs between, and answers "done …" when it is carried out.

require "$argv[1]/wp-load.php";

function post_number(string $number): WP_Post
{
    return get_page_by_path("candle-number-$number", OBJECT, 'post');
}

function carry_out(string $order, string $number, string $words): string
{
    global $wpdb;
    return (string) match ($order) {
        'body' => wp_update_post(['ID' => post_number($number)->ID, 'post_content' => "<p>$words</p>"], true),
        'title' => wp_update_post(['ID' => post_number($number)->ID, 'post_title' => $words], true),
        'name' => update_option('blogname', $words),
        'comment' => wp_insert_comment([
            'comment_post_ID' => post_number($number)->ID,
            'comment_author' => 'Cid',
            'comment_content' => $words,
            'comment_approved' => 1,
        ]),
        'tag' => count(wp_set_object_terms(post_number($number)->ID, $words, 'post_tag', true)),
        // A post that is to appear so many seconds from now.
        'schedule' => wp_insert_post([
            'post_title' => $words,
            'post_content' => '<p>In time.</p>',
            'post_status' => 'future',
            'post_author' => 1,
            'post_date' => gmdate('Y-m-d H:i:s', time() + (int) $number),
        ], true),
        // Straight from the database: others change it.
        'status' => $wpdb->get_var($wpdb->prepare("SELECT post_status FROM $wpdb->posts WHERE ID = %d", $number)),
    };
}

while (($line = fgets(STDIN)) !== false) {
    $parts = explode("\t", trim($line, "\n"));
    echo 'done ', carry_out($parts[0], $parts[1] ?? '', $parts[2] ?? ''), "\n";
}
