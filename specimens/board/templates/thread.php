<?php if (!defined('BOARD')) exit; ?>
<h1><?= escape($thread['subject']) ?></h1>
<p class="path"><a href="/">Threads</a> › <?= escape($thread['subject']) ?> · <?= $thread['posts'] ?> posts<?= SIN_VIEW_COUNTER ? " · {$thread['views']} views" : '' ?></p>
<?php foreach ($posts as $post): ?>
<article class="post" id="post-<?= $post['id'] ?>">
    <aside>
        <a class="author" href="/member/<?= escape($post['name']) ?>"><?= escape($post['name']) ?></a>
        <span class="title"><?= escape($post['title']) ?></span>
        <span class="joined">since <?= gmdate('M Y', $post['joined']) ?></span>
    </aside>
    <div class="text">
        <p class="when"><a href="#post-<?= $post['id'] ?>"><?= date_tag($post['written']) ?></a></p>
<?= format_post($post['body']) ?>
    </div>
</article>
<?php endforeach ?>
<?php render('pager', ['page' => $page, 'pages' => $pages, 'first' => thread_path($thread['id']), 'other' => thread_path($thread['id']) . '/page/']) ?>
<?php if ($member): ?>
<form class="write" action="<?= thread_path($thread['id']) ?>" method="post">
    <h2>Reply</h2>
    <input type="hidden" name="token" value="<?= escape(form_token()) ?>">
    <textarea name="body" rows="8" maxlength="20000" required aria-label="Your reply"></textarea>
    <button>Post the reply</button>
</form>
<?php else: ?>
<p class="invite"><a href="/login">Log in</a> or <a href="/register">register</a> to reply.</p>
<?php endif ?>
