
'use strict';
(() => {
  const opened = Date.now();
  const end = document.querySelector('time');
  if (end) {
    // In the visitor's own time zone. Where that cannot be had, the UTC time stays alone.
    try {
      const local = document.getElementById('local');
      local.textContent = new Intl.DateTimeFormat(document.documentElement.lang, {
        weekday: 'long', month: 'long', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZoneName: 'short',
      }).format(new Date(end.dateTime));
      local.hidden = false;
    } catch { /* it is shown in UTC */ }
  }

  const status = document.getElementById('status');
  if (!status) {
    return; // this page answers a form: to load it again would send that again
  }
  const shortest = 5000, longest = 60000;
  let wait = 2 * shortest, last = opened, timer;

  // Waits get longer, and differ from visitor to visitor, so that they do not all come at once.
  const plan = () => {
    clearTimeout(timer);
    timer = setTimeout(check, Math.max(shortest, wait * (0.5 + Math.random())));
    wait = Math.min(wait * 1.5, longest);
  };
  const check = async () => {
    if (document.hidden) {
      return; // goes on when the visitor looks again
    }
    last = Date.now();
    try {
      const answer = await fetch(location.href.split('#')[0], {method: 'HEAD', cache: 'no-store', redirect: 'manual'});
      const ours = answer.headers.has('X-Maintenance-Page');
      // 502 and 504 come from what stands between, and mean that nobody is there yet.
      if (!ours && answer.status !== 502 && answer.status !== 504) {
        status.textContent = status.dataset.returning;
        location.reload();
        return;
      }
      // The time that is shown has passed. The visitor's clock may be wrong, so what counts
      // is how long this page has been open.
      if (ours && end && Date.now() - opened > end.dataset.seconds * 1000) {
        location.reload();
        return;
      }
    } catch { /* the network is away: go on */ }
    plan();
  };
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (!document.hidden) {
      timer = setTimeout(check, Math.max(1000 * Math.random(), last + shortest - Date.now()));
    }
  });
  status.textContent = status.dataset.watching;
  status.className = 'watching';
  plan();
})();
