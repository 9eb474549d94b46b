'use strict';
(function () {
  const pulse = document.getElementById('pulse');
  const say = document.getElementById('announce');

  // Ages are shown by the clock of the browser, so that they go on between two updates.
  function ago(seconds) {
    if (seconds < 0) return '0s ago';
    if (seconds < 120) return Math.floor(seconds) + 's ago';
    if (seconds < 7200) return Math.floor(seconds / 60) + 'm ago';
    if (seconds < 172800) return Math.floor(seconds / 3600) + 'h ago';
    return Math.floor(seconds / 86400) + 'd ago';
  }
  // A time to come is shown in the time zone of the browser.
  const clock = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
  let skew = 0;
  function ages() {
    document.querySelectorAll('time[datetime]').forEach(function (t) {
      const at = Date.parse(t.dateTime), past = (Date.now() - skew - at) / 1000;
      const text = past < -60 ? clock.format(at) : ago(past);
      if (t.textContent !== text) t.textContent = text;
    });
  }

  // Only the parts that differ are replaced, so that the focus and the selection stay. If a part
  // appears or disappears, the whole content is.
  function parts(page) { return Array.from(page.querySelectorAll('[data-live]'), function (e) { return e.id; }).join(); }
  function patch(next) {
    let differs = 0;
    const main = next.getElementById('main');
    if (main && parts(next) !== parts(document)) {
      document.title = next.title;
      document.getElementById('main').replaceChildren.apply(document.getElementById('main'), Array.from(main.childNodes));
      differs = 1;
    }
    next.querySelectorAll('[data-live]').forEach(function (fresh) {
      const old = document.getElementById(fresh.id);
      if (!old) return;
      if (patchRows(old, fresh)) differs++;
    });
    document.dispatchEvent(new Event('patched'));
    return differs;
  }
  function plain(node) {
    const copy = node.cloneNode(true);
    copy.querySelectorAll('time').forEach(function (t) { t.textContent = ''; });
    copy.querySelectorAll('.changed, .lit').forEach(function (e) { e.classList.remove('changed', 'lit'); });
    copy.querySelectorAll('.lines').forEach(function (e) { e.remove(); });
    copy.querySelectorAll('[class=""]').forEach(function (e) { e.removeAttribute('class'); });
    copy.querySelectorAll('.copy').forEach(function (e) { e.hidden = true; });
    return copy.innerHTML;
  }
  function patchRows(old, fresh) {
    if (plain(old) === plain(fresh)) return false;
    const before = {};
    old.querySelectorAll('tr[id], li[id]').forEach(function (r) { before[r.id] = plain(r); });
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const href = focused && focused.getAttribute('href');
    const held = focused && focused.closest('[id]');
    old.replaceChildren.apply(old, Array.from(fresh.childNodes));
    old.querySelectorAll('tr[id], li[id]').forEach(function (r) {
      if (before[r.id] !== undefined && before[r.id] !== plain(r)) r.classList.add('changed');
    });
    if (focused) {
      const place = (held && document.getElementById(held.id)) || old;
      const again = Array.from(place.querySelectorAll('a[href], button')).find(function (a) { return a.getAttribute('href') === href; });
      if (again) again.focus({ preventScroll: true });
    }
    return true;
  }

  // Hours of a week are shown in the time zone of the browser, which only a request can name.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || '';
  let fetching = false, wanted = false, gone = false, version = pulse ? pulse.dataset.version : '';
  async function refresh() {
    if (gone) return;
    if (fetching) { wanted = true; return; }
    fetching = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html', 'Time-Zone': zone } });
      if (answer.redirected || answer.status === 401 || answer.status === 403) { lost('your session has ended'); return; }
      const date = Date.parse(answer.headers.get('Date') || '');
      if (date) skew = Date.now() - date;
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html'), fresh = next.getElementById('pulse');
      if (!fresh) return; // the answer is no page of the cluster; the next version asks again
      version = fresh.dataset.version;
      if (patch(next)) say.textContent = 'The page was updated.';
      ages();
    } catch (e) {
      live(false);
    } finally {
      fetching = false;
      if (wanted) { wanted = false; setTimeout(refresh, 1000); }
    }
  }
  function live(on, text) {
    if (!pulse || gone) return;
    pulse.classList.toggle('on', on);
    pulse.title = on ? 'The page follows the cluster' : 'Not live';
    document.getElementById('pulse-text').textContent = text || (on ? 'live' : 'reconnecting');
  }
  // Only another sign-in helps, so nothing asks again. The link opens this page, which has the form.
  function lost(text) {
    if (gone) return;
    live(false, text);
    gone = true;
    disconnect();
    say.textContent = 'The page is not updated: ' + text + '.';
    if (!pulse) return;
    const link = document.createElement('a');
    link.href = location.pathname + location.search; // with a fragment, it would not be loaded
    link.textContent = 'Sign in again';
    pulse.append(' ', link);
  }
  let stream = null, again = 0;
  // A browser has six connections to a host, and each stream takes one. So a page that nobody sees has
  // none, and reads what has changed when it is seen again.
  function disconnect() {
    clearTimeout(again);
    if (stream) stream.close();
    stream = null;
  }
  function connect() {
    disconnect();
    if (gone || document.hidden) return;
    stream = new EventSource('live');
    stream.addEventListener('version', function (e) {
      live(true);
      if (version !== e.data) refresh();
    });
    stream.onerror = function () {
      if (gone) return;
      live(false);
      // A browser gives up after an answer that is no stream, such as one of a proxy during a restart.
      if (stream && stream.readyState === EventSource.CLOSED) again = setTimeout(function () { connect(); refresh(); }, 3000);
    };
  }
  if (pulse && window.EventSource) {
    connect();
    document.addEventListener('visibilitychange', function () {
      connect();
      if (!document.hidden) refresh();
      else live(false, 'paused');
    });
    window.addEventListener('pagehide', disconnect);
    window.addEventListener('pageshow', function (e) { if (e.persisted) { connect(); refresh(); } });
  }
  const week = document.querySelector('[data-zone]');
  if (week && week.dataset.zone !== zone) refresh();
  ages();
  setInterval(ages, 1000);

  // Keyboard.
  const pages = { n: './', m: 'map', g: 'gates', c: 'controller' };
  document.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
    if (typing) { if (e.key === 'Escape') e.target.blur(); return; }
    const search = document.getElementById('search');
    if (e.key === '/' && search) { e.preventDefault(); search.focus(); search.select(); return; }
    if (pages[e.key] && search) { location.href = pages[e.key]; return; }
    if (e.key === 'j' || e.key === 'k') {
      const refs = Array.from(document.querySelectorAll('main th .ref, .map .ref'));
      const at = refs.indexOf(document.activeElement);
      const to = refs[e.key === 'j' ? at + 1 : Math.max(at - 1, 0)];
      if (to) to.focus();
    }
  });

  // Commands can be copied where the browser allows that.
  function copies() {
    if (!navigator.clipboard) return;
    document.querySelectorAll('.copy[hidden]').forEach(function (b) { b.hidden = false; });
  }
  document.addEventListener('click', function (e) {
    const button = e.target.closest('.copy');
    if (!button) return;
    navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent).then(function () {
      button.textContent = 'Copied';
      say.textContent = 'Copied.';
      setTimeout(function () { button.textContent = 'Copy'; }, 1500);
    });
  });
  copies();
  document.addEventListener('patched', copies);

  // The map draws a line from each source to the workloads that use it, and on to their Pods.
  const svg = 'http://www.w3.org/2000/svg';
  let edges = [];
  function edge(lines, box, from, to, idle) {
    const a = from.getBoundingClientRect(), b = to.getBoundingClientRect();
    const x1 = a.right - box.left, y1 = a.top + a.height / 2 - box.top, x2 = b.left - box.left, y2 = b.top + b.height / 2 - box.top;
    const bend = (x2 - x1) / 2, path = document.createElementNS(svg, 'path');
    path.setAttribute('d', 'M' + x1 + ' ' + y1 + 'C' + (x1 + bend) + ' ' + y1 + ' ' + (x2 - bend) + ' ' + y2 + ' ' + x2 + ' ' + y2);
    if (idle) path.setAttribute('class', 'idle');
    lines.append(path);
    edges.push({ from: from, to: to, path: path });
  }
  function draw() {
    const map = document.getElementById('columns');
    if (!map) return;
    const old = map.querySelector('.lines');
    if (old) old.remove();
    edges = [];
    const lines = document.createElementNS(svg, 'svg'), box = map.getBoundingClientRect();
    lines.setAttribute('class', 'lines');
    lines.setAttribute('aria-hidden', 'true');
    map.querySelectorAll('[data-pods]').forEach(function (node) {
      [['uses', false], ['idle', true]].forEach(function (kind) {
        node.dataset[kind[0]].split(' ').forEach(function (id) {
          const from = id && document.getElementById(id);
          if (from) edge(lines, box, from, node, kind[1]);
        });
      });
      const pods = document.getElementById(node.dataset.pods);
      if (pods) edge(lines, box, node, pods, false);
    });
    map.prepend(lines);
    light(pointed && document.getElementById(pointed));
  }
  let pointed = ''; // the identifier of what is lit up, which stays when its element is replaced
  function light(node) {
    const map = document.getElementById('columns');
    if (!map) return;
    pointed = node ? node.id : '';
    map.querySelectorAll('.lit').forEach(function (e) { e.classList.remove('lit'); });
    map.classList.toggle('lit', !!node);
    if (!node) return;
    // From a source to the right, from Pods to the left, and from a workload both ways.
    function follow(at, step) {
      at.classList.add('lit');
      edges.forEach(function (e) {
        if (e[step] !== at) return;
        e.path.classList.add('lit');
        follow(step === 'from' ? e.to : e.from, step);
      });
    }
    follow(node, 'from');
    follow(node, 'to');
  }
  function over(e) { light(e.target.closest && e.target.closest('.map .node')); }
  document.addEventListener('pointerover', over);
  document.addEventListener('focusin', over);
  document.addEventListener('patched', draw);
  window.addEventListener('resize', draw);
  draw();
})();
