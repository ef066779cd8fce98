(()=>{let o=document.currentScript.dataset,k='wick-visit',v,
visit=()=>{let n=Date.now();v=v||{};try{v=JSON.parse(localStorage[k]||0)||{}}catch{}
if(!(n-v.seen<18e5))v.last=v.seen||n;v.seen=n;try{localStorage[k]=JSON.stringify(v)}catch{}mark()},
mark=()=>{let count=0;for(let i of document.querySelectorAll(o.items)){
let d=o.date?i.querySelector(o.date):i;if(!d)continue;
let t=d.dataset.wickSince||d.getAttribute('datetime')||d.dataset.time||d.title||d.textContent;
t=/^\s*\d{9,13}\s*$/.test(t)?t*(t<1e11?1e3:1):Date.parse(t);
if(t>v.last){count++;i.hidden=false;i.classList.add(o.mark);i.style.cssText+=';'+o.look}}
dispatchEvent(new CustomEvent('wick-new',{detail:{count,last:v.last}}))};
document.readyState=='loading'?addEventListener('DOMContentLoaded',visit):visit();
addEventListener('pageshow',e=>{if(e.persisted)visit()})})()
