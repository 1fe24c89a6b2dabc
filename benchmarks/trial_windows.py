"""Estimates of SteadyAccesses from windows against what it counted itself: AGENT, SPOOL, CLASSES; java SECONDS MODE 100:1000."""
import sys, subprocess, shutil, os, collections, math

from headway import _native
AG=os.environ['AGENT']
def run(java, secs, mode, win, more=''):
    sp=os.environ['SPOOL']; shutil.rmtree(sp,ignore_errors=True); os.mkdir(sp)
    d=subprocess.run([java,f'-agentpath:{AG}=spool={sp},accesses=1,access_windows={win}{more}','-cp',os.environ['CLASSES'],'SteadyAccesses',str(secs),mode],capture_output=True,text=True,timeout=200)
    print(d.stderr[:500],end='')
    want={l.split()[0]:tuple(map(int,l.split()[1:])) for l in d.stdout.splitlines()}
    (f,)=_native.Decoder(sp).agents()
    names=[n.decode() for n in f['allocations']['texts']]
    a=f['accesses']; ids={t[4]:t[6].decode() for t in f['threads']}
    ids={t[4]: (t[6] if isinstance(t[6],str) else t[6].decode()) for t in f['threads']}
    w=a['windows']; work=collections.defaultdict(dict)
    for i,g,*s in zip(w['java_id'].tolist(),w['group'].tolist(),*(w[k].tolist() for k in('marks_in','marks_between','cpu_in_ns','cpu_between_ns','marks_before'))): work[i][g]=s
    y=collections.defaultdict(lambda: collections.defaultdict(lambda:[0,0]))
    for i,c,g,tw,ar in zip(a['java_id'].tolist(),a['class'].tolist(),a['group'].tolist(),a['tuple_writes'].tolist(),a['array_reads'].tolist()):
        if names[c].endswith('$Work'): y[i][g][0]+=tw; y[i][g][1]+=ar
    print(dict(f['facts']).get(b'accesses_coverage') if f['facts'] else '')
    for i,groups in y.items():
        n=ids.get(i,'?'); W=work[i]
        xs={g:W[g] for g in W if g>0}
        x=sum(v[0] for v in xs.values()); X=sum(v[1] for v in xs.values())
        ci=sum(v[2] for v in xs.values()); cb=sum(v[3] for v in xs.values())
        if not x: print(n,'no marks',W, dict(groups)); continue
        m=sum(v[4] for v in xs.values()); E=X/max(m,1)
        for k in (0,1):
            y0=groups.get(0,[0,0])[k]
            Y={g:groups.get(g,[0,0])[k]*E for g in xs}
            N=y0+sum(Y.values()); Wt=sum(xs[g][4] for g in xs)*E
            G=len(xs); d=[Y[g]-(sum(Y.values())/Wt)*xs[g][4]*E for g in xs]
            se=math.sqrt(G/(G-1)*sum(e*e for e in d)) if G>1 else float('nan')
            se*=math.sqrt(1-x/(x+X))
            print(f"{mode} {n} kind{k} est {N/1e6:.2f}M se {se/1e6:.3f} true {want[n][k]/1e6:.2f}M err {100*(N/want[n][k]-1):.2f}%  E={E:.1f} cpuE={1+cb/ci:.1f} x={x} slow={(ci/x)/(cb/max(X,1)):.2f} groups={G}")
run(*sys.argv[1:2],float(sys.argv[2]),*sys.argv[3:])
