// The sections of the page, from doctor.json.
'use strict';

const d = JSON.parse(document.getElementById('data').textContent || 'null');
const meaning = {
  compute: 'the device computes', copy: 'it waits for a copy', input: 'it waits for a batch',
  launch: 'it waits for the host to start work', sync: 'callbacks and host layers',
  unexplained: 'not explained',
};
const limitColour = {
  input: 'input', contention: 'input', copy: 'copy', launch: 'launch', sync: 'sync', ranks: 'sync',
  kernels: 'compute', memory: 'copy', compute: 'compute', latency: 'launch',
};

function verdict() {
  const v = d.verdict;
  document.getElementById('where').textContent =
    ['Stoker doctor', d.device_name, d.machine].filter(text => text).join(' · ');
  const word = document.getElementById('limit-word');
  word.textContent = v.limit !== 'none' ? `limit: ${v.limit}` : v.finding;
  const owner = limitColour[v.limit];
  if (owner || v.finding !== 'healthy')
    word.style.setProperty('--limit', colour(owner || 'unexplained'));
  document.getElementById('sentence').textContent = v.sentence;
  const remarks = v.health.slice(v.finding === 'health' ? 1 : 0).concat(v.hints);
  document.getElementById('remarks').append(...remarks.map(text => element('li', {}, text)));
  document.title = `Stoker doctor: ${word.textContent}`;
}

function step() {
  const s = section('Where a step’s time goes');
  const tiles = [
    ['step_seconds', 'per step', time(d.step_seconds)],
    ['samples_per_second', 'samples per second', count(d.samples_per_second)],
    ['compute', 'the device computes', percent(d.shares.compute)],
    ['limit', 'limit', d.verdict.limit],
    ['unexplained', 'unexplained', percent(d.shares.unexplained)],
    ['steps', 'steps observed', String(d.steps)],
  ].map(([id, name, value]) =>
    element('div', { class: 'tile' }, element('b', { id }, value), element('span', {}, name)));
  const parts = owners.filter(owner => d.shares[owner] > 0);
  const bar = parts.map(owner => tip(
    element('div', { style: `width:${100 * d.shares[owner]}%;background:${colour(owner)}` }),
    `${owner}: ${percent(d.shares[owner])}, ${time(d.shares[owner] * d.step_seconds)}\n${meaning[owner]}`));
  const legend = parts.map(owner => element('span', {},
    element('i', { class: 'swatch', style: `background:${colour(owner)}` }), `${owner} `,
    element('b', { 'data-share': owner }, percent(d.shares[owner])),
    element('span', { class: 'soft' }, ` ${time(d.shares[owner] * d.step_seconds)}, ${meaning[owner]}`)));
  s.append(element('div', { class: 'tiles' }, ...tiles), element('div', { class: 'bar' }, ...bar),
    element('div', { class: 'legend' }, ...legend));
}

function results(p) {
  if (p.changes_results) return element('span', { class: 'tag bad' }, 'results change');
  const provided = p.provided ? `, provided that ${p.provided}` : '';
  return element('span', { class: 'tag good' }, `results stay the same${provided}`);
}

function gain(p) {
  const made = element('div', { class: 'gain' });
  if (p.tried) {
    made.append(element('b', {}, percent(p.gain)), element('span', { class: 'soft' }, ' measured gain'),
      meter(p.after_seconds / Math.max(p.before_seconds, p.after_seconds)),
      element('div', { class: 'soft' }, `before ${time(p.before_seconds)} → after ${time(p.after_seconds)} ` +
        `per step [${percent(p.gain_interval[0])}, ${percent(p.gain_interval[1])}], ` +
        (p.kept ? 'kept' : 'taken back') + (p.settled_seconds ? `; ${time(p.settled_seconds)} once settled` : '')));
  } else if (p.predicted_step_seconds) {
    made.append(element('b', {}, `${(d.step_seconds / p.predicted_step_seconds).toFixed(2)}×`),
      element('span', { class: 'soft' }, ' faster at best'),
      meter(p.predicted_step_seconds / d.step_seconds),
      element('div', { class: 'soft' }, `${time(p.predicted_step_seconds)} of ${time(d.step_seconds)} per step`));
  }
  return made;
}

function remedies() {
  if (!d.prescriptions.length) return;
  const s = section('What to do');
  s.append(element('div', { class: 'remedies', id: 'remedies' }, ...d.prescriptions.map(p =>
    element('div', { class: p.tried && !p.kept ? 'remedy refuted' : 'remedy', 'data-action': p.action },
      element('div', {}, element('div', { class: 'what' }, p.what),
        element('div', { class: 'soft' }, p.why), results(p)),
      gain(p)))));
}

function course() {
  if (d.course.length < 2) return;
  const s = section('The step over time'), W = 1000, H = 230, L = 66, B = 28, c = d.course;
  const first = c[0].time, last = c[c.length - 1].time;
  const top = Math.max(...c.map(p => p.step_seconds)) * 1.08 || 1;
  const X = t => L + (W - L - 10) * (t - first) / ((last - first) || 1);
  const Y = v => H - B - (H - B - 10) * v / top;
  const chart = shape('svg', { viewBox: `0 0 ${W} ${H}`, id: 'course' });
  let below = c.map(() => 0);
  for (const owner of owners) {
    const above = c.map((p, i) => below[i] + p.shares[owner] * p.step_seconds);
    const edge = values => c.map((p, i) => `${X(p.time)},${Y(values[i])}`);
    chart.append(shape('polygon', {
      points: edge(above).concat(edge(below).reverse()).join(' '), style: `fill:${colour(owner)}`,
    }));
    below = above;
  }
  for (let i = 0; i <= 4; i++) {
    const value = top * i / 4, at = first + (last - first) * i / 4;
    chart.append(shape('line', { class: 'grid', x1: L, x2: W - 10, y1: Y(value), y2: Y(value) }),
      shape('text', { x: L - 8, y: Y(value) + 4, 'text-anchor': 'end' }, time(value)),
      shape('text', { x: X(at), y: H - 8, 'text-anchor': i === 4 ? 'end' : 'middle' }, `${at.toFixed(1)} s`));
  }
  tip(chart, event => {
    const box = chart.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * W;
    const p = c.reduce((best, each) => Math.abs(X(each.time) - x) < Math.abs(X(best.time) - x) ? each : best);
    return [`${p.time.toFixed(1)} s: ${time(p.step_seconds)} per step`]
      .concat(owners.filter(o => p.shares[o] >= 0.001).map(o => `${o} ${percent(p.shares[o])}`)).join('\n');
  });
  s.append(chart);
}

function pipeline() {
  const p = d.pipeline;
  if (!p) return;
  const s = section('The input pipeline');
  const workers = p.workers
    ? `${p.workers} worker${p.workers === 1 ? '' : 's'}, ${p.depth} batches prefetched, busy ${percent(p.busy_share)}`
    : 'The training thread makes every batch when it asks for it';
  const ready = p.workers ? `. A batch was ready in ${percent(p.ready_share)} of the steps` : '';
  s.append(element('p', {}, `${workers}${p.as_written ? ' (as written)' : ''}${ready}; median wait ${time(p.median_wait_seconds)}.`));
  if (p.stages.length)
    s.append(table('stages', ['stage', 'per element', 'share', '', 'on a core', 'longest', 'bytes', ''],
      p.stages.map(x => [x.name, number(x.seconds_per_element, time), number(x.share, percent),
        meter(x.share, 'input'), x.cpu_share === null ? '?' : percent(x.cpu_share),
        x.longest_seconds ? time(x.longest_seconds) : '', x.bytes_per_element ? bytes(x.bytes_per_element) : '',
        x.random ? 'random' : ''])));
  if (p.cache_bytes) s.append(element('p', { class: 'note' }, `A cache after ${p.cache_after} would hold ${bytes(p.cache_bytes)}.`));
}

function experiments() {
  if (!d.experiments.length) return;
  const s = section('Experiments: a step under other circumstances');
  const longest = Math.max(d.step_seconds, ...d.experiments.map(x => x.step_seconds));
  const rows = [{ name: 'the run itself', step_seconds: d.step_seconds, meaning: 'what was observed' }, ...d.experiments];
  const made = table('experiments', ['what', 'per step', '', 'meaning'],
    rows.map(x => [x.name, time(x.step_seconds), meter(x.step_seconds / longest, 'sync'), x.meaning]));
  for (const row of made.rows) row.lastChild.className = 'wide';
  s.append(made);
}

function lanes() {
  if (d.device.length < 2) return;
  const shown = [
    ['use', 'device use', percent], ['memory_bytes', 'memory', bytes], ['power_watts', 'power', v => `${v.toFixed(0)} W`],
    ['clock_mhz', 'clock', v => `${v.toFixed(0)} MHz`], ['occupancy', 'warps in use', percent],
    ['tensor_use', 'tensor cores', percent], ['memory_use', 'memory bandwidth', percent],
    ['process_cores', 'cores of this program', v => v.toFixed(1)], ['other_cores', 'cores of other programs', v => v.toFixed(1)],
  ].filter(([key]) => d.device.some(x => x[key] !== null));
  const s = section('Device and machine', 'half'), W = 500, R = 54, L = 150;
  const first = d.device[0].time, last = d.device[d.device.length - 1].time;
  const chart = shape('svg', { viewBox: `0 0 ${W} ${R * shown.length}`, id: 'lanes' });
  shown.forEach(([key, name, show], row) => {
    const points = d.device.filter(x => x[key] !== null), top = Math.max(...points.map(x => x[key]), 1e-9);
    const X = t => L + (W - L - 90) * (t - first) / ((last - first) || 1), floor = R * row + R - 8;
    const line = points.map(x => `${X(x.time)},${floor - (R - 18) * x[key] / top}`).join(' ');
    chart.append(shape('text', { x: 0, y: R * row + R / 2 + 4 }, name),
      shape('text', { x: W, y: R * row + R / 2 + 4, 'text-anchor': 'end' }, `max ${show(top)}`),
      shape('polygon', { class: 'under', points: `${X(points[0].time)},${floor} ${line} ${X(points[points.length - 1].time)},${floor}` }),
      shape('polyline', { class: 'lane', points: line }));
  });
  s.append(chart);
}

function memory() {
  const m = d.predicted_memory;
  if (!m) return;
  const s = section('Memory of a step', 'half');
  const parts = ['weights', 'gradients', 'optimizer', 'activations', 'workspace', 'inputs', 'metrics'];
  s.append(table('memory', ['category', 'predicted', 'share', ''],
    parts.map(key => [key, bytes(m[key]), percent(m.total ? m[key] / m.total : 0), meter(m.total ? m[key] / m.total : 0, 'copy')])
      .concat([['total', bytes(m.total), '', '']])));
  const where = d.device_name.startsWith('CPU') ? 'for the whole process, programs and pipeline included' : 'on the GPU';
  s.append(element('p', { class: 'note' }, `Measured at most: ${bytes(d.measured_memory_bytes)} ${where}.`));
}

function roofline() {
  const ops = d.layers.filter(x => x.seconds > 0 && x.flops > 0 && x.bytes > 0);
  if (!ops.length || d.peak_flops <= 0 || d.peak_bandwidth <= 0) return;
  const s = section('Ops against the machine’s roof'), W = 1000, H = 380, L = 70, B = 42, log = Math.log10;
  const knee = d.peak_flops / d.peak_bandwidth;
  const density = ops.map(x => x.flops / x.bytes), rate = ops.map(x => x.flops / x.seconds);
  const left = log(Math.min(...density, knee) / 3), right = log(Math.max(...density, knee) * 3);
  const low = log(Math.min(...rate) / 3), high = log(Math.max(d.peak_flops, ...rate) * 2);
  const X = v => L + (W - L - 20) * (log(v) - left) / (right - left);
  const Y = v => H - B - (H - B - 14) * (log(v) - low) / (high - low);
  const chart = shape('svg', { viewBox: `0 0 ${W} ${H}`, id: 'roofline' });
  for (let p = Math.ceil(low); p <= high; p++)
    chart.append(shape('line', { class: 'grid', x1: L, x2: W - 20, y1: Y(10 ** p), y2: Y(10 ** p) }),
      shape('text', { x: L - 8, y: Y(10 ** p) + 4, 'text-anchor': 'end' },
        p >= 12 ? `${10 ** (p - 12)} T` : p >= 9 ? `${10 ** (p - 9)} G` : `${10 ** (p - 6)} M`));
  for (let p = Math.ceil(left); p <= right; p++)
    chart.append(shape('text', { x: X(10 ** p), y: H - B + 18, 'text-anchor': 'middle' }, String(10 ** p)));
  chart.append(shape('text', { x: (L + W) / 2, y: H - 6, 'text-anchor': 'middle' }, 'FLOPs per byte'),
    shape('text', { x: 4, y: 12 }, 'FLOP/s'));
  const start = 10 ** left, slope = bandwidth => {
    const from = Math.max(start, 10 ** low / bandwidth), to = d.peak_flops / bandwidth;
    return `${X(from)},${Y(from * bandwidth)} ${X(to)},${Y(d.peak_flops)}`;
  };
  chart.append(shape('polyline', { class: 'roof', points: `${slope(d.peak_bandwidth)} ${W - 20},${Y(d.peak_flops)}` }));
  if (d.peak_cache_bandwidth > d.peak_bandwidth && d.peak_flops / d.peak_cache_bandwidth > start)
    chart.append(shape('polyline', { class: 'cached', points: slope(d.peak_cache_bandwidth) }));
  const longest = Math.max(...ops.map(x => x.seconds));
  ops.forEach((x, i) => chart.append(tip(shape('circle', {
    cx: X(density[i]), cy: Y(rate[i]), r: 4 + 12 * Math.sqrt(x.seconds / longest),
    style: `fill:${colour(limitColour[x.limit] || 'launch')}`, 'fill-opacity': .6,
  }), `${x.layer}/${x.op}, ${x.phase}\n${time(x.seconds)}\n${percent(x.compute_share)} of the peak\n${percent(x.bandwidth_share)} of the bandwidth`)));
  s.append(chart, element('p', { class: 'note' },
    'Each circle is an op of a layer, as large as its time. On the slope memory limits, under the flat roof arithmetic; the dashed slope is that of the last cache.'));
}

function layers() {
  if (!d.layers.length) return;
  const all = d.layers.reduce((sum, x) => sum + x.seconds, 0) || 1;
  section('Time per layer').append(table('layers', ['layer', 'op', 'phase', 'time', 'share', '', 'of peak', 'of bandwidth', 'limit'],
    d.layers.slice(0, 40).map(x => [x.layer || '—', x.op, x.phase, number(x.seconds, time), number(x.seconds / all, percent),
      meter(x.seconds / all), number(x.compute_share, percent), number(x.bandwidth_share, percent), x.limit])));
}

function callbacks() {
  if (!d.callbacks.length) return;
  section('Callbacks', 'half').append(table('callbacks', ['callback', 'per step', 'of the step'],
    d.callbacks.map(x => [x.name, number(x.seconds_per_step, time),
      number(d.step_seconds ? x.seconds_per_step / d.step_seconds : 0, percent)])));
}

function ranks() {
  if (!d.ranks || !d.ranks.length) return;
  section('Ranks').append(table('ranks', ['rank', 'host', 'rows', 'own work', 'of it input', 'waits for sums', 'of the step', ''],
    d.ranks.map(x => [String(x.rank), x.host, x.rows.toFixed(1), time(x.step_seconds - x.waiting_seconds), time(x.input_seconds),
      time(x.waiting_seconds), percent(x.step_seconds ? x.waiting_seconds / x.step_seconds : 0),
      meter(x.step_seconds ? x.waiting_seconds / x.step_seconds : 0, 'sync')])));
}

function wholeFit() {
  const f = d.fit;
  if (!f) return;
  const parts = [['steps', 'steps'], ['validation', 'validation'], ['epoch_turns', 'between epochs'],
    ['read_back', 'reading loss and metrics'], ['unexplained', 'unexplained']];
  section('The whole fit', 'half').append(table('fit', ['part', 'time', 'share', ''],
    parts.map(([key, name]) => [name, time(f[key] * f.seconds), percent(f[key]), meter(f[key])])));
}

function comparison() {
  const c = d.comparison;
  if (!c) return;
  const s = section('Models compared'), first = c.models[0];
  const gain = (before, after) => before && after ? ` (${(before / after).toFixed(2)}×)` : '';
  const step = (mode, show) => m => m[mode].seconds ? show(m[mode]) : '—';
  const range = t => `${time(t.seconds)} [${time(t.low)}, ${time(t.high)}]`;
  const faster = t => `${t.speedup.toFixed(2)}× [${t.speedup_interval.map(x => x.toFixed(2)).join(', ')}]`;
  const rows = [
    ['parameters', m => count(m.parameters) + gain(first.parameters, m.parameters)],
    ['of them zero', m => percent(m.zero_share)],
    ['file', m => m.file_bytes ? bytes(m.file_bytes) + gain(first.file_bytes, m.file_bytes) : '—'],
    ['MFLOP per sample', m => m.flops ? (m.flops * 1e-6).toFixed(2) + gain(first.flops, m.flops) : '—'],
    ['memory, training', m => m.training_bytes ? bytes(m.training_bytes) + gain(first.training_bytes, m.training_bytes) : '—'],
    ['memory, inference', m => m.inference_bytes ? bytes(m.inference_bytes) + gain(first.inference_bytes, m.inference_bytes) : '—'],
    ...['training', 'inference'].flatMap(mode => [
      [`${mode} step`, step(mode, range)], ['as fast as the first', step(mode, faster)],
      ['samples per second', step(mode, t => count(t.samples_per_second))],
      ['of the device', step(mode, t => t.device_share ? percent(t.device_share) : '—')]]),
    ...Object.keys(first.metrics).map(name => [name, m => m.metrics[name] === undefined || m.metrics[name] === null ? '—' : m.metrics[name].toFixed(4)]),
    ['agrees with the first', (m, i) => percent(c.agreement[0][i])],
    ...c.models.some(m => m.predicted_speedup) ? [['speedup, predicted', m => m.predicted_speedup ? `${m.predicted_speedup.toFixed(2)}×` : '—']] : [],
  ];
  s.append(table('comparison', ['', ...c.models.map(m => m.name)],
    rows.map(([name, show]) => [name, ...c.models.map(show)])));
  s.append(element('p', { class: 'note' }, `${count(c.samples)} samples; steps of ${c.batch_size}, one batch again and again, ` +
    `in alternating blocks: medians and the middle half. ${c.notes.join('. ')}`));
}

if (d) {
  const run = [verdict, step, remedies, course, ranks, pipeline, experiments, lanes, memory, roofline, layers, wholeFit, callbacks];
  for (const draw of d.verdict ? [...run, comparison] : [comparison]) draw();
  if (d.verdict) {
    document.getElementById('trust').textContent = `Trust: ${d.trust}.`;
  } else if (d.comparison) {
    document.title = 'Stoker: models compared';
    document.getElementById('where').textContent = `Stoker · ${d.comparison.device}`;
    document.getElementById('sentence').textContent = d.comparison.sentence;
  }
  document.body.dataset.ready = 'yes';
}
