<?php
// The same page as page.php, made the way most apps make theirs: with a session for
// everybody, a token in a form, and headers that forbid to store it.

session_save_path(sys_get_temp_dir());
session_start();
$_SESSION['token'] ??= bin2hex(random_bytes(16));
ob_start();
require __DIR__ . '/page.php';
$page = ob_get_clean();
header('Cache-Control: no-store, no-cache, must-revalidate');
$form = "<form method=post><input type=hidden name=token value={$_SESSION['token']}></form>";
echo substr_replace($page, $form, -15 - strlen($form), strlen($form));
