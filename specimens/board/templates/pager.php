<?php if (!defined('BOARD')) exit; ?>
<?php if ($pages > 1): ?>
<nav class="pager" aria-label="Pages">
<?php for ($number = 1; $number <= $pages; $number++): ?>
<?php if ($number === $page): ?>
    <strong aria-current="page"><?= $number ?></strong>
<?php else: ?>
    <a href="<?= $number === 1 ? $first : $other . $number ?>"><?= $number ?></a>
<?php endif ?>
<?php endfor ?>
</nav>
<?php endif ?>
