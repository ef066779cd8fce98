<?php if (!defined('BOARD')) exit; ?>
<!DOCTYPE html>
<html lang="en">
<head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title><?= escape($title) ?></title>
    <link rel="stylesheet" href="/assets/style.css">
    <link rel="icon" href="/assets/lamp.svg" type="image/svg+xml">
</head>
<body>
<header class="top">
    <a class="name" href="/"><img src="/assets/lamp.svg" alt="" width="40" height="40"> <?= escape(BOARD_NAME) ?></a>
    <p class="motto"><?= escape(BOARD_MOTTO) ?></p>
    <form class="search" action="/search" role="search">
        <input type="search" name="q" aria-label="Search the posts" placeholder="Search the posts" maxlength="100">
        <button>Search</button>
    </form>
    <nav>
<?php if ($member): ?>
        <span>Welcome back, <a href="/member/<?= escape($member['name']) ?>"><?= escape($member['name']) ?></a></span>
        <a href="/new">New thread</a>
        <form action="/logout" method="post">
            <input type="hidden" name="token" value="<?= escape(form_token()) ?>">
            <button>Log out</button>
        </form>
<?php else: ?>
        <a href="/login">Log in</a>
        <a href="/register">Register</a>
<?php endif ?>
    </nav>
</header>
<main>
