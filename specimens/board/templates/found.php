<?php if (!defined('BOARD')) exit; ?>
<ul class="found">
<?php foreach ($posts as $post): ?>
    <li>
        <a href="<?= thread_path($post['thread']) ?>"><?= escape($post['subject']) ?></a>
        <span class="by"><?= escape($post['name']) ?>, <?= date_tag($post['written']) ?></span>
        <p><?= escape(excerpt($post['body'])) ?></p>
    </li>
<?php endforeach ?>
</ul>
