// The report as one page that needs no other file and no network: the JSON is in it, and a script
// draws it. Text from data is only ever set as text, never as markup.
#include <string>

#include <nlohmann/json.hpp>

#include "formats/json.h"
#include "observe/report_json.h"

namespace stoker::doctor {

namespace {

constexpr const char* kStyle = R"(
:root{--compute:#2e9e6b;--copy:#a45ac0;--input:#d9503f;--launch:#e0a030;--sync:#3a91c8;--unexplained:#9aa0a6;
--ink:#1d2329;--soft:#5c6670;--line:#e3e7eb;--card:#fff;--page:#f5f6f8}
@media(prefers-color-scheme:dark){:root{--ink:#e8ebee;--soft:#9aa5b0;--line:#2f3740;--card:#1b2127;--page:#12161a}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}h1{font-size:25px;line-height:1.3;margin:.1em 0 .3em}
h2{font-size:16px;margin:0 0 12px}.soft{color:var(--soft)}section{background:var(--card);border:1px solid var(--line);
border-radius:10px;padding:18px 20px;margin-top:16px;overflow-x:auto}.tiles{display:flex;flex-wrap:wrap;gap:26px}
.tile b{display:block;font-size:22px;font-weight:600}.bar{display:flex;height:34px;border-radius:6px;overflow:hidden}
.bar div{min-width:0}.legend{display:flex;flex-wrap:wrap;gap:6px 20px;margin-top:10px}.legend i{display:inline-block;
width:11px;height:11px;border-radius:3px;margin-right:6px}table{border-collapse:collapse;width:100%}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--line);white-space:nowrap}th{color:var(--soft);
font-weight:500}th:first-child,td:first-child{text-align:left}td.wide{white-space:normal;text-align:left}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:11px}.tag{border-radius:9px;padding:1px 9px;
font-size:12px;background:var(--line)}.good{background:#2e9e6b33}.bad{background:#d9503f33}ol{padding-left:20px;margin:0}
li{margin-bottom:12px}
)";

constexpr const char* kScript = R"JS(
'use strict';
const d=JSON.parse(document.getElementById('data').textContent);
const owners=['compute','copy','input','launch','sync','unexplained'];
const meaning={compute:'the device computes',copy:'it waits for a copy',input:'it waits for a batch',
launch:'it waits for the host’s call',sync:'callbacks and host layers',unexplained:'nobody knows'};
const colour=o=>`var(--${o})`;
const main=document.querySelector('main');
function el(tag,attributes={},...children){const e=document.createElement(tag);
 for(const[k,v]of Object.entries(attributes))e.setAttribute(k,v);
 for(const c of children)e.append(c);return e}
function svg(tag,attributes={},text){const e=document.createElementNS('http://www.w3.org/2000/svg',tag);
 for(const[k,v]of Object.entries(attributes))e.setAttribute(k,v);if(text!==undefined)e.textContent=text;return e}
const time=s=>s<1e-3?(s*1e6).toFixed(1)+' µs':s<1?(s*1e3).toFixed(2)+' ms':s.toFixed(2)+' s';
const percent=x=>(100*x).toFixed(1)+' %';
const bytes=b=>{const u=['B','kB','MB','GB','TB'];let i=0;while(b>=1000&&i<4){b/=1000;i++}return b.toFixed(i?1:0)+' '+u[i]};
function section(title){const s=el('section',{},el('h2',{},title));main.append(s);return s}
function table(heads,rows){const t=el('table');const h=el('tr');heads.forEach(x=>h.append(el('th',{},x)));t.append(h);
 rows.forEach(r=>{const tr=el('tr');r.forEach(c=>tr.append(el('td',{},c)));t.append(tr)});return t}
function title(node,text){node.append(svg('title',{},text));return node}

// Verdict
main.append(el('p',{class:'soft'},`Stoker doctor · ${d.device_name||'this machine'} · ${d.machine}`));
main.append(el('h1',{id:'sentence'},d.verdict.sentence));
d.verdict.health.slice(d.verdict.finding==='health'?1:0).concat(d.verdict.hints).forEach(t=>main.append(el('p',{},t)));
const tiles=el('div',{class:'tiles'});
[['step_seconds','a step',time(d.step_seconds)],['samples_per_second','samples a second',d.samples_per_second.toFixed(0)],
 ['compute','device computes',percent(d.shares.compute)],['limit','limit',d.verdict.limit],
 ['unexplained','unexplained',percent(d.shares.unexplained)],['steps','steps seen',String(d.steps)]]
 .forEach(([id,name,value])=>tiles.append(el('div',{class:'tile'},el('b',{id},value),el('span',{class:'soft'},name))));
{const s=section('Where a step’s time goes');s.append(tiles);const bar=el('div',{class:'bar',style:'margin-top:16px'});
 const legend=el('div',{class:'legend'});
 owners.forEach(o=>{const x=d.shares[o];const part=el('div',{style:`width:${100*x}%;background:${colour(o)}`,title:`${o} ${percent(x)}`});
  bar.append(part);if(x>0)legend.append(el('span',{},el('i',{style:`background:${colour(o)}`}),
  `${o} `,el('b',{'data-share':o},percent(x)),el('span',{class:'soft'},` ${time(x*d.step_seconds)}, ${meaning[o]}`))) });
 s.append(bar,legend)}

// Over time
if(d.course.length>1){const s=section('The step over time');const W=1000,H=220,L=64,B=26;
 const g=svg('svg',{viewBox:`0 0 ${W} ${H}`,id:'course'});const c=d.course;
 const x0=c[0].time,x1=c[c.length-1].time||1,top=Math.max(...c.map(p=>p.step_seconds))*1.08||1;
 const X=t=>L+(W-L-10)*(t-x0)/((x1-x0)||1),Y=v=>H-B-(H-B-10)*v/top;
 let base=c.map(()=>0);
 owners.forEach(o=>{const upper=c.map((p,i)=>base[i]+p.shares[o]*p.step_seconds);
  const forth=c.map((p,i)=>`${X(p.time)},${Y(upper[i])}`),back=c.map((p,i)=>`${X(p.time)},${Y(base[i])}`).reverse();
  g.append(title(svg('polygon',{points:forth.concat(back).join(' '),style:`fill:${colour(o)}`}),o));base=upper});
 for(let i=0;i<=4;i++){const v=top*i/4;g.append(svg('line',{x1:L,x2:W-10,y1:Y(v),y2:Y(v),stroke:'var(--line)'}));
  g.append(svg('text',{x:L-6,y:Y(v)+4,'text-anchor':'end'},time(v)));
  const t=x0+(x1-x0)*i/4;g.append(svg('text',{x:X(t),y:H-8,'text-anchor':i==4?'end':'middle'},t.toFixed(1)+' s'))}
 s.append(g)}

// Prescriptions
if(d.prescriptions.length){const s=section('What to do');const list=el('ol');
 d.prescriptions.forEach(p=>{const li=el('li',{},el('b',{},p.what),' ');
  li.append(el('span',{class:'tag '+(p.changes_results?'bad':'good')},p.changes_results?'results change':'results stay the same'));
  li.append(el('div',{class:'soft'},p.why));
  if(p.tried){li.append(el('div',{},`before ${time(p.before_seconds)} → after ${time(p.after_seconds)} a step, gain ${percent(p.gain)} [${percent(p.gain_interval[0])}, ${percent(p.gain_interval[1])}]: ${p.kept?'kept':'taken back'}`+(p.settled_seconds?`; ${time(p.settled_seconds)} once settled`:'')));
   const bar=el('div',{style:'max-width:460px;margin-top:4px'});
   [['before',p.before_seconds,'input'],['after',p.after_seconds,'compute']].forEach(([n,v,o])=>bar.append(el('div',{style:
    `height:9px;margin-top:3px;border-radius:4px;width:${100*v/Math.max(p.before_seconds,p.after_seconds)}%;background:${colour(o)}`,title:n})));
   li.append(bar)}
  if(p.predicted_step_seconds)li.append(el('div',{},`at best ${time(p.predicted_step_seconds)} a step, ${(d.step_seconds/p.predicted_step_seconds).toFixed(2)}×`));
  list.append(li)});s.append(list)}

// Pipeline
if(d.pipeline){const p=d.pipeline,s=section('The input pipeline');
 s.append(el('p',{},(p.workers?`${p.workers} worker${p.workers==1?'':'s'}, ${p.depth} batches ahead, busy ${percent(p.busy_share)}`:'Every batch is made by the training thread when it asks for it')
  +(p.as_written?' (as written)':'')+(p.workers?`. A batch was ready in ${percent(p.ready_share)} of the steps`:'')+`; median wait ${time(p.median_wait_seconds)}.`));
 if(p.stages.length){const t=table(['stage','an element','share','on a core','longest','bytes'],p.stages.map(x=>[x.name,time(x.seconds_per_element),
  percent(x.share),x.cpu_share===null?'?':percent(x.cpu_share),x.longest_seconds?time(x.longest_seconds):'',x.bytes_per_element?bytes(x.bytes_per_element):'']));t.id='stages';s.append(t)}
 if(p.cache_bytes)s.append(el('p',{},`A cache after ${p.cache_after} would hold ${bytes(p.cache_bytes)}.`))}

// Device lanes
if(d.device.length>1){const lanes=[['use','device use',percent],['memory_bytes','memory',bytes],['power_watts','power',v=>v.toFixed(0)+' W'],
 ['clock_mhz','clock',v=>v.toFixed(0)+' MHz'],['occupancy','warps in use',percent],['tensor_use','tensor cores',percent],
 ['memory_use','memory bandwidth',percent],['process_cores','cores of this program',v=>v.toFixed(1)],['other_cores','cores of others',v=>v.toFixed(1)]]
 .filter(([k])=>d.device.some(x=>x[k]!==null));const s=section('Device and machine');const W=1000,R=52,L=170;
 const g=svg('svg',{viewBox:`0 0 ${W} ${R*lanes.length}`,id:'lanes'});const t0=d.device[0].time,t1=d.device[d.device.length-1].time;
 lanes.forEach(([k,name,show],row)=>{const points=d.device.filter(x=>x[k]!==null),top=Math.max(...points.map(x=>x[k]),1e-9);
  const X=t=>L+(W-L-80)*(t-t0)/((t1-t0)||1),Y=v=>R*row+R-8-(R-18)*v/top;
  g.append(svg('text',{x:0,y:R*row+R/2+4},name));g.append(svg('text',{x:W,y:R*row+R/2+4,'text-anchor':'end'},'max '+show(top)));
  g.append(svg('polyline',{points:points.map(x=>`${X(x.time)},${Y(x[k])}`).join(' '),fill:'none',stroke:'var(--sync)','stroke-width':1.6}))});
 s.append(g)}

// Memory
if(d.predicted_memory){const m=d.predicted_memory,s=section('Memory');const parts=['weights','gradients','optimizer','activations','workspace','inputs','metrics'];
 const t=table(['category','predicted','share'],parts.map(k=>[k,bytes(m[k]),percent(m.total?m[k]/m.total:0)]).concat([['total',bytes(m.total),'']]));t.id='memory';s.append(t);
 s.append(el('p',{class:'soft'},`Measured at most: ${bytes(d.measured_memory_bytes)}`+(d.device_name.startsWith('CPU')?' for the whole process, programs and pipeline included':' on the GPU')))}

// Roofline
const plotted=d.layers.filter(x=>x.seconds>0&&x.flops>0&&x.bytes>0);
if(plotted.length&&d.peak_flops>0){const s=section('Layers against the machine’s roof');const W=1000,H=380,L=70,B=40;
 const g=svg('svg',{viewBox:`0 0 ${W} ${H}`,id:'roofline'});const lg=Math.log10;
 const ai=plotted.map(x=>x.flops/x.bytes),rate=plotted.map(x=>x.flops/x.seconds);
 const xa=lg(Math.min(...ai,d.peak_flops/d.peak_bandwidth)/3),xb=lg(Math.max(...ai,d.peak_flops/d.peak_bandwidth)*3);
 const ya=lg(Math.min(...rate)/3),yb=lg(Math.max(d.peak_flops,...rate)*2);
 const X=v=>L+(W-L-20)*(lg(v)-xa)/(xb-xa),Y=v=>H-B-(H-B-14)*(lg(v)-ya)/(yb-ya);
 for(let p=Math.ceil(ya);p<=yb;p++){g.append(svg('line',{x1:L,x2:W-20,y1:Y(10**p),y2:Y(10**p),stroke:'var(--line)'}));
  g.append(svg('text',{x:L-6,y:Y(10**p)+4,'text-anchor':'end'},10**(p-9)>=1?10**(p-9)+' G':10**(p-6)+' M'))}
 for(let p=Math.ceil(xa);p<=xb;p++)g.append(svg('text',{x:X(10**p),y:H-B+16,'text-anchor':'middle'},String(10**p)));
 g.append(svg('text',{x:W/2,y:H-6,'text-anchor':'middle'},'FLOPs a byte'),svg('text',{x:4,y:12},'FLOP/s'));
 const knee=d.peak_flops/d.peak_bandwidth,first=10**xa;
 g.append(svg('polyline',{points:`${X(first)},${Y(Math.max(first*d.peak_bandwidth,10**ya))} ${X(knee)},${Y(d.peak_flops)} ${W-20},${Y(d.peak_flops)}`,fill:'none',stroke:'var(--ink)','stroke-width':1.6}));
 if(d.peak_cache_bandwidth>d.peak_bandwidth){const cached=d.peak_flops/d.peak_cache_bandwidth;
  g.append(title(svg('polyline',{points:`${X(first)},${Y(Math.max(first*d.peak_cache_bandwidth,10**ya))} ${X(cached)},${Y(d.peak_flops)}`,
  fill:'none',stroke:'var(--soft)','stroke-dasharray':'5 4'}),'the last cache'))}
 const longest=Math.max(...plotted.map(x=>x.seconds));
 plotted.forEach((x,i)=>{const o=x.limit==='compute'?'compute':x.limit==='memory'?'copy':'launch';
  g.append(title(svg('circle',{cx:X(ai[i]),cy:Y(rate[i]),r:4+12*Math.sqrt(x.seconds/longest),style:`fill:${colour(o)}`,'fill-opacity':.6}),
  `${x.layer}/${x.op} ${x.phase}: ${time(x.seconds)}, ${percent(x.compute_share)} of peak, ${percent(x.bandwidth_share)} of bandwidth`))});
 s.append(g);s.append(el('p',{class:'soft'},'Each circle is an op of a layer, as large as its time. On the slope memory limits, under the flat roof arithmetic; the dashed slope is that of the last cache.'))}
if(d.layers.length){const s=section('Time per layer');const t=table(['layer','op','phase','time','of peak','of bandwidth','limit'],
 d.layers.slice(0,40).map(x=>[x.layer||'—',x.op,x.phase,time(x.seconds),percent(x.compute_share),percent(x.bandwidth_share),x.limit]));t.id='layers';s.append(t)}

// Experiments, callbacks, trust
if(d.experiments.length){const s=section('Experiments');s.append(table(['what','time','meaning'],d.experiments.map(x=>[x.name,time(x.step_seconds),x.meaning])))}
if(d.callbacks.length){const s=section('Callbacks');s.append(table(['callback','a step'],d.callbacks.map(x=>[x.name,time(x.seconds_per_step)])))}
main.append(el('p',{class:'soft',id:'trust'},'Trust: '+d.trust+'.'));
document.body.dataset.ready='yes';
)JS";

// A script element ends at the first "</", wherever it stands.
std::string embedded(std::string json) {
  for (size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3)
    json.replace(at, 2, "<\\/");
  return json;
}

}  // namespace

std::string Diagnosis::html() const {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Stoker doctor</title>\n<style>";
  page += kStyle;
  page +=
      "</style>\n</head>\n<body>\n<main></main>\n<script type=\"application/json\" id=\"data\">";
  page += embedded(dump_report(diagnosis_json(*this)));
  page += "</script>\n<script>";
  page += kScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace stoker::doctor
