<?php
// Installs WordPress in the folder $argv[1] for the account $argv[2], $argv[3], and
// writes what visitors read.

define('WP_INSTALLING', true);
[, $root, $user, $password] = $argv;
require "$root/wp-load.php";
require ABSPATH . 'wp-admin/includes/upgrade.php';

// There is nobody to write to.
function wp_mail()
{
    return true;
}

wp_install('Candle works', $user, "$user@example.org", true, '', $password);
update_option('permalink_structure', '/%postname%/');
update_option('comment_moderation', '0');
update_option('comment_previously_approved', '0');
update_option('comments_notify', '0');
update_option('moderation_notify', '0');
for ($number = 1; $number <= 12; $number++) {
    $words = "<!-- wp:paragraph -->\n<p>What is to be said of candle $number.</p>\n<!-- /wp:paragraph -->\n";
    $made = wp_insert_post([
        'post_title' => "Candle number $number",
        'post_content' => str_repeat($words, 8),
        'post_status' => 'publish',
        'post_author' => 1,
        'post_category' => [wp_create_category('Shelf ' . $number % 3)],
        'tags_input' => ['wax', 'colour ' . $number % 4],
        // A day apart, so that their order is certain.
        'post_date' => gmdate('Y-m-d H:i:s', time() - 86400 * $number),
    ]);
    $made || exit(1);
}
for ($number = 1; $number <= 3; $number++) {
    $made = wp_insert_post([
        'post_type' => 'page',
        'post_title' => "Workshop $number",
        'post_content' => "What is made in workshop $number.",
        'post_status' => 'publish',
        'post_author' => 1,
    ]);
    $made || exit(1);
}
