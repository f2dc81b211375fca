// Values that find places for parts of their lives only are moved (unused outputs take some of them until they are written).
// test compile
// target usse
#version 450
layout(std140,binding=0) uniform U { vec4 ua[4]; mat4 um; vec3 ub; ivec4 ui; uvec4 uu; };
layout(location=0) in vec4 a;
layout(location=1) in vec4 b;
layout(location=2) in ivec4 c;
layout(location=0) out vec4 o0;
layout(location=1) out vec4 o1;
layout(location=2) out vec4 o2;
layout(location=3) out vec4 o3;layout(location=4) out vec4 o4;layout(location=5) out vec4 o5;layout(location=6) out vec4 o6;
const uint K1[4] = uint[4](65535u,65535u,466899651u,2147483647u);
uvec3 fn2(in bvec3 p3, in bvec4 p4, inout uvec4 p5) {
 if ((float((c.xyz).z&255)!=((p3.xyxz).w?float(uu.y>>22u):b.x))) {
  if ((p4).y) {
   if ((!((p3[clamp((clamp(c.b,(-7),(-7))>>(int(a.s)&31)),0,2)]||p3.t)&&(c.p>=ui[3])))) {
    p5.zx *= uvec2(p5.x,bitfieldExtract((bitfieldExtract(p5[(((p3[0]?uu[3]:uu.a)<<((K1[0]<<7u)&31u))&3u)],4,7)<<(min(uu.r,p5[(((p4.g?p4.t:p4[0])?(ui.t&c.b):bitfieldExtract(ui[1],18,8))&3)])&31u)),((ui.x&ui[((bitfieldInsert(p5.r,uu[0],4,21)*(false?K1[1]:uu.w))&3u)])&15),((bitfieldReverse(c.g)&15)+1)));
    bvec2 v6 = p4.ww;
   } else {
    ivec3 v7 = (-(ivec3(p5.xxz)/2147483647));
   }
   if ((((p4.b?ua[((bitfieldExtract(c.p,(bitfieldExtract(ui.w,((p3.y?c.r:c.r)&15),((int(p4[2])&15)+1))&15),(((c.q*ui.g)&15)+1))|ui.g)&3)].x:ua[(uu.z&3u)].y)<(a[3]*(2.0)))?(!any(p3)):((um[1][3]<um[(c.r&3)][3])^^(b.w<=0.5)))) {
    p5.z = (((uint(0u)-K1[(((ui.y&0)&clamp(c.r,(-6),(-1)))&3)])/(((uu).w&15u)+1u))*(min(uu[1],2147483647u)%(((uu.q^p5[3])&15u)+1u)));
    if ((float((c[(floatBitsToInt((abs(sign(a.p))+1.0))&3)]/3)&255)<sign((a.q*0.0)))) {
     ivec3 v8 = ((((c.wwx&2147483647)/((ui.wzw&15)+1))^(p4.y?c.xzz:ivec3(255,65535,255)))+clamp((-ui.zxw),(-8),(-8)));
     if ((bitfieldReverse(v8.b)>=(c.t&v8.p))) {
      return clamp((p5.yxw/((p5.xyw&15u)+1u)),0u,3u);
     }
    }
    p5 = bitfieldInsert(uvec4(ui),(uvec4(0u)-uu),4,22);
   } else {
    uvec3 v9 = max(uu.wxx,uu.wyx);
    if ((!all(not(p4.wzz)))) {
     if (((-ui[((p5.p%((clamp(p5.b,2u,6u)&15u)+1u))&3u)])!=int(bitCount(v9.y)))) {
      return bitfieldReverse(((uu.zyy^v9)).xxz);
     }
    }
   }
   p5.zwx = bitfieldReverse(bitfieldExtract(bitfieldInsert(uvec3(p3),uvec3(p3),12,10),((ui.wy).y&15),((int(K1[1])&15)+1)));
  }
 } else {
  if (((notEqual(b.xxz,ub)).y^^(floatBitsToUint((abs(b.t)+1.0))<(~p5[3])))) {
   if ((((-1)<=ui[(uu[((((c.w*ui[0])&2147483647)%int(2))&3)]&3u)])&&p4[2])) {
    return (bitfieldExtract(uvec4(p5.a,p5.a,p5.g,uu.z),((c.p<<(65535&31))&15),((bitfieldInsert(ui.g,c[(((ui.p&c.y)&ui.z)&3)],24,6)&15)+1))).xyw;
   }
  }
 }
 return ((uvec3(0u)-p5.zwy)+bitfieldReverse((p5.w>>(p5[1]&31u))));
}
void main() {
 vec4 acc0 = vec4(3.25,2.0,0.0,2.0);
 vec4 acc1 = vec4(-1.0,-1.0,-1.0,1.0);
 vec4 acc2 = vec4(1.0,-1.0,-6.0,2.0);
 ivec4 iacc = ivec4(65535,2147483647,255,2);
 uvec4 uacc = uvec4(4294967295u,2u,2u,2696411982u);
 int n11 = 4;
 for (int i10 = 0; i10 < n11; i10++) {
  uacc.xwy = (uvec3(0u)-(uvec3(0u)-(uvec3(0u)-(uu.zzx/((uacc.zyy&15u)+1u)))));
  acc0.y = min(max((floor((step(dot(sign(acc0.ww),(false?vec2(acc2[0],b[(bitfieldInsert(bitfieldInsert(uu[2],0u,22,10),(K1[2]/5u),27,4)&3u)]):vec2(1.0,acc2.t))),clamp(abs(acc1[(abs(bitfieldReverse(i10))&3)]),-2.0,3.5))*(((vec4(0.5,0.0,1.0,-1.0)).z-(true?acc2.z:acc0.g))*((vec3(acc0.x,b.s,a[0])).x*fract(a.a)))+((!(i10==ui[0]))?((true?acc1.w:a[((uu.t^(uacc.x|K1[1]))&3u)])*fract(um[((uu.s>>20u)&3u)][0])):mix(sign(ub.p),floor(ub.x),0.0)))*4.0)*0.25),-16.0),16.0);
 }
 acc0 = min(max(vec4(ivec4(b)&255),-16.0),16.0);
 uvec3 v12 = fn2(notEqual((acc0.wyw+(false?abs(vec3(acc2.a,b.g,um[2][3])):(-a.xxz))),fract(clamp(abs(ub),-2.0,3.5))), ((acc0[0]>a.w)?bvec4(acc0):equal(ua[(bitfieldReverse(clamp(c.q,(-9),(-2)))&3)],um[2])), uacc);
 for (int i13 = 0; i13 < 4; i13 += 1) {
  acc0.wx = clamp((floor(mix((((c.w+i13)==(c[3]|2))?step((acc2.yw-ub[clamp(((true?ui.t:2147483647)-int(bitCount(i13))),0,2)]),sign(ub.xy)):vec2(abs(acc0.g),sign(b.b))),vec2(a[3],acc2.p),vec2(0.25,0.0))*4.0)*0.25),vec2(-16.0),vec2(16.0));
  uvec3 v15 = fn2((((K1[(K1[(bitfieldInsert((i13/((c.s&15)+1)),floatBitsToInt((abs(um[3][2])+1.0)),10,19)&3)]&3u)]-uacc[2])<(true?uacc.b:uacc.x))?notEqual(max(c.xxw,ivec3(2147483647,0,(-1))),ivec3(bitCount(c.wzy))):equal(((iacc.wxw&2147483647)%((c.ywx&15)+1)),(false?ui.xwz:iacc.xwz))), bvec4((acc2*acc1.z)), uacc);
  if ((0.0<=a[(bitfieldExtract((1u*v15[(((v15[1]&K1[3])^uacc.r)%3u)]),2,11)&3u)])) {
   if (((!(i13<ui[((bitfieldExtract(uu.w,11,21)*floatBitsToUint((abs(ub.y)+1.0)))&3u)]))?(!(ub.r<=(-0.5))):(uu.w!=(uu.r-K1[0])))) {
    iacc.wy = ((true?ui.wx:ivec2(c[0],c.s))+(ui.wy<<(ui.yz&31)));
    bool v16 = ((-(b.wxw).z)==float(K1[1]>>22u));
    if ((greaterThanEqual(acc1.zyx,b.yzw)).z) {
     break;
    }
   }
   ivec4 v17 = clamp(((iacc.wz).xyxy|int(findLSB(c[2]))),(-4),5);
   v12 = fn2(lessThanEqual(uacc.zzx,uvec3(v15[clamp(((iacc.a/((c.a&15)+1))&(5^iacc.w)),0,2)],255u,2147483647u)), not((notEqual(v17,c)).xyyz), uacc);
  }
  acc0.g = abs(float((b.w!=acc0.a)));
  if ((greaterThan(uvec3(v15.z,uu.b,v15.x),floatBitsToUint((abs(vec3(acc2[2],ua[2].y,ub.r))+1.0)))).z) {
   if ((!(c.t<=c.p))) {
    break;
   }
   iacc[2] = (iacc.yxz).y;
   acc1 = (floor((clamp(acc1,-2.0,3.5)*(0.5))*4.0)*0.25);
  }
 }
 if (((uacc.p<=v12.p)||(um[(abs(int(b.t))&3)][0]>ub.g))) {
  gl_Position=vec4(0.0,0.0,0.0,1.0); o0=acc0; o1=acc1; o2=acc2; o3=vec4(iacc&65535); o4=vec4((iacc>>16)&65535); o5=vec4(uacc&65535u); o6=vec4(uacc>>16u); return;
 }
 acc2.yz = clamp(acc2.zz,-2.0,3.5);
 uvec3 v18 = fn2((lessThan(uvec4(ivec4(findLSB(v12.zxyx))),((uu<<4u)-(v12.t%uint(3u))))).wzw, (equal(iacc.yzz,ui.yxy)).xyyy, uacc);
 if (true) {
  if ((fma((9.75*(-2.0)),((-10.0)*um[(((uacc.x/7u)%uint(16u))&3u)][3]),(a.x+acc2.r))>mix(float(false),float(K1[(((uu.wyy-uacc.ywx)).y&3u)]>>22u),0.0))) {
   v18 = fn2(not(lessThan(uacc.wwy,uu.xyy)), bvec4(((ivec4(65535,iacc[((false?K1[2]:(true?K1[3]:v12[1]))&3u)],iacc.w,iacc[(int((255u<K1[0]))&3)])&2147483647)%ivec4(7))), uacc);
  }
  acc0.xy = ((vec2(bvec2(true,false))).yx-fract((acc0.wx+ua[2].w)));
 } else {
  if ((((uint(0u)-v12.s)>>19u)==((uacc.zwx>>20u)).z)) {
   ivec4 v19 = ivec4(((step(vec4(acc2.p,1.0,ub[0],acc1.x),b)+mix(b,acc1,bvec4(false,true,false,false)))*mix((-acc1),acc1,vec4(1.0,1.0,0.25,1.0))+(fma(ua[1],acc0,ua[(v12.y&3u)])+float(true))));
  }
  if ((true&&(3.25<acc0.a))) {
   gl_Position=vec4(0.0,0.0,0.0,1.0); o0=acc0; o1=acc1; o2=acc2; o3=vec4(iacc&65535); o4=vec4((iacc>>16)&65535); o5=vec4(uacc&65535u); o6=vec4(uacc>>16u); return;
  }
 }
 if (true) {
  if ((255>=(int(uacc[(((iacc[3]*(-2147483647-1))+(ui.s/((c.q&15)+1)))&3)])|(iacc.g>>(2&31))))) {
   v18[clamp(sign(iacc.w),0,2)] = (bitfieldInsert(v18.xyxz,uvec4(v12.z,uacc.r,v18[0],2u),28,4)).y;
   uvec3 v20 = fn2(bvec3(ivec3(bitCount(v12))), not(greaterThan(bitfieldReverse((true?ui:ui)),bitfieldInsert((ui*iacc),(ui<<13),22,7))), uacc);
   int i21 = 0; int n22 = (int(bitCount((v20[0]%uint(65537u))))&3);
   do {
    i21++;
    if (any(greaterThanEqual(b.wx,acc2.xy))) {
     break;
    }
    if (false) {
     break;
    }
    int v23 = bitfieldReverse(max((c[2]>>30),(i21>>15)));
    if (((a[(bitfieldExtract((c.a/((c.w&15)+1)),27,4)&3)]<=um[((int(findMSB(uu.b))<<((~i21)&31))&3)][1])^^(c.w>v23))) {
     break;
    }
    if (false) {
     break;
    }
   } while (i21 < n22);
   uint v24 = ((K1[0]-uacc.p)-uint(iacc[1]));
  } else {
   bvec4 v25 = ((((c[((c.w+(iacc.p>>11))&3)]!=c.a)?(a.p+ua[((v18[2]*(uacc.r*uu.q))&3u)].w):b.b)<=(float(c.z&255)+float(false)*abs(acc2[(v12.z&3u)])))?equal(bitfieldExtract((~iacc),((iacc[(int(findMSB((c.x*c[2])))&3)]^iacc.y)&15),((ui.w&15)+1)),((acc0.s<=ub[(v18.g%3u)])?min(iacc,c):(iacc/((ui&15)+1)))):notEqual(v18.yxzz,(floatBitsToUint((abs(vec4(0.0,(-1.0),ua[((ui.t+floatBitsToInt((abs(ua[2].y)+1.0)))&3)].w,b[3]))+1.0))|(uu.b+uu.q))));
  }
 } else {
  int n27 = 1;
  for (int i26 = 0; i26 < n27 && ((2.0!=ub.y)||false); i26++) {
   vec4 v28 = clamp((-((um[(((iacc.p&ui.a)<<((false?ui[3]:ui[2])&31))&3)]+ua[(bitfieldReverse(int(bitCount(i26)))&3)])*(-2.0))),vec4(-16.0),vec4(16.0));
   float v29 = step(acc2[2],((acc2.yz*mix(vec2(a[2],ua[(int(findLSB((c.xy).y))&3)].x),vec2(-1.0,0.5),vec2(1.0,0.5)))).x);
   float v30 = clamp((floor((mix(fma(mix(v28,vec4(0.0,-1.0,-5.25,0.0),vec4(0.5,0.75,0.5,0.75)),ceil(acc0),b),vec4((v28[((uint(c[3])+K1[2])&3u)]+v28[((true?(true?uacc.x:uacc.q):uu[1])&3u)]),abs(acc2.zy),(acc1.p*(0.5))),vec4(1.0,0.5,0.75,0.5))).w*4.0)*0.25),-16.0,16.0);
   if ((!(fract(um[(((K1[0]^uacc.p)|uint(iacc.r))&3u)][3])<(-v29)))) {
    uacc.s = (((uacc.r>>15u)*v12[((max(K1[2],v12[2])-(v12.z&v18.z))%3u)])|(~(255u+v12.s)));
    if ((false&&(c[(clamp(floatBitsToUint((abs(a.w)+1.0)),3u,9u)&3u)]>=255))) {
     break;
    }
    vec2 v31 = vec2(equal(acc0.wy,ub.zz));
    if (((v12.t!=v18.x)||(iacc.w<(-4)))) {
     break;
    }
   }
  }
 }
 if (((clamp(b.z,-2.0,3.5)+(acc1.t*acc1.z))>=(dot(a,b)*(0.5)))) {
  if (((ui.r>ui.t)^^(ub[1]==acc1[(((uacc.b|v12.p)&v12.g)&3u)]))) {
   gl_Position=vec4(0.0,0.0,0.0,1.0); o0=acc0; o1=acc1; o2=acc2; o3=vec4(iacc&65535); o4=vec4((iacc>>16)&65535); o5=vec4(uacc&65535u); o6=vec4(uacc>>16u); return;
  }
  bool v32 = ((65535==c.x)&&(uacc.w>=uacc[(uint(int(a.p))&3u)]));
  int n34 = (ui[((-2147483647-1)&3)]&3);
  for (int i33 = 0; i33 < n34; i33++) {
   uvec3 v35 = fn2(notEqual(vec3(2.0,0.0,0.5),(clamp(acc1.wyx,-2.0,3.5)-vec3(um[3][0],0.5,um[2][3]))), equal(sign(iacc),floatBitsToInt((abs(a)+1.0))), uacc);
   vec3 v36 = (((acc0.p+a.q)>=mix(ub.b,acc0[1],1.0))?fract(vec3(uu.xyy>>22u)):acc2.zwx);
   acc0.z = min(max((floor(((1.0*b[(floatBitsToInt((abs((v32?acc0[0]:b.x))+1.0))&3)])*(acc0.xw).y)*4.0)*0.25),-16.0),16.0);
   v35 = fn2(bvec3(((!v32)==(true?v32:v32)),(notEqual(ui.yx,iacc.zw)).y,(uint(ui.y)==v35.z)), greaterThanEqual(acc2,vec4(0.0,(-1.0),ub.y,b.x)), uacc);
   if (true) {
    if (v32) {
     continue;
    }
   }
  }
  v12 = v18;
 } else {
  acc1.p = clamp((floor(((ub.t*abs(acc1))).x*4.0)*0.25),-16.0,16.0);
  v12.r += ((65535<=ui.s)?(true?v12[0]:v18.p):(v18.t^v12[2]));
  uvec3 v37 = fn2(lessThan(((acc0.z>=acc0[0])?(uacc.wxx|uacc.s):uvec3(ui.zyz)),max((uvec3(K1[(bitfieldReverse(uacc.y)&3u)],K1[(floatBitsToUint((abs(b.a)+1.0))&3u)],K1[((min(c[0],iacc.a)&abs(c[2]))&3)])-uacc.wyw),(false?v12:v12))), bvec4((false?vec4(0.5,0.5,2.0,1.0):ub.zzyy)), uacc);
 }
 bvec3 v38 = bvec3((mix(a.xzz,acc1.zww,vec3(0.5,0.0,0.0))*mix(vec3(1.0,-1.0,1.0),vec3(um[3][0],a[(2&3)],0.0),vec3(0.25,1.0,0.5))+floor(ub)));
 if (v38.g) {
  if ((!((v38[2]?v38[clamp(((iacc[2]*iacc.p)/((floatBitsToInt((abs(ua[2].w)+1.0))&15)+1)),0,2)]:v38.r)?any(v38.yz):(v38).z))) {
   int n40 = 4;
   for (int i39 = 0; i39 < n40 && ((v18).y!=(v38[((max(uacc[2],2147483647u)&4294967295u)%3u)]?v12.s:65535u)); i39++) {
    uvec3 v41 = fn2(greaterThanEqual(ivec3(ui.g,ui.b,i39),c.xwx), equal((floatBitsToUint((abs(acc1)+1.0))%uvec4(100u)),v12.zzyz), uacc);
    if (((v38.r||v38[(((true?v12[0]:K1[0])/1u)%3u)])||(v12.z!=v12.s))) {
     break;
    }
    acc1.r = (floor(fract(dot(vec2(a[(((v41.xzxx-uu)).y&3u)],10.5),acc0.zz))*4.0)*0.25);
    if (v38[2]) {
     continue;
    }
   }
   v38.yz = lessThan(max(uacc.wx,v12.yy),(v38.s?uacc.wz:v18.xx));
   acc1.wz = fract(acc2.wx);
  }
 } else {
  acc0.ywx = (vec4(1.0,1.0,1.0,0.0)).wyz;
 }
 if (((((iacc.s&2147483647)%((ui[0]&15)+1))/(((ui[3]/1)&15)+1))>=bitfieldReverse((c.q>>(c.y&31))))) {
  int i42 = 0; int n43 = 2;
  while (i42 < n43) {
   i42++;
   if ((((v38.b&&v38.g)?(v38).yxx:v38)).z) {
    iacc.yxz = ((v38.y?(iacc.wyw*c.yzz):(~ui.xxz))+((ivec3(2,c.s,ui.s)).y<<10));
    if (all(bvec3(ub))) {
     break;
    }
   } else {
    if ((max(v12[clamp(int(uint(v38.r)),0,2)],2724018523u)<(uacc[(max((K1[0]%uint(8u)),(uu[2]%((uu.q&15u)+1u)))&3u)]+v12.r))) {
     break;
    }
    if (v38.x) {
     continue;
    }
    if ((!(v12[clamp(((c.r+c.z)|(i42/2)),0,2)]<v18.y))) {
     break;
    }
   }
   if ((!(um[(v12.r&3u)][1]>=ua[0].w))) {
    continue;
   }
   if ((((c.wz).y-(i42^i42))<=i42)) {
    v12.r = 0u;
    uacc.zx = (clamp(bitfieldInsert(uu.yy,uu.yz,10,20),3u,4u)+(bitfieldReverse(uu.yw)-(uint(0u)-K1[2])));
   } else {
    if ((a.y>(a[(clamp((v12.xyyy).z,2u,7u)&3u)]*acc0.b))) {
     break;
    }
    uint v44 = min((v38[clamp(((v38.xxzx).y?(-1):(ivec2(ui.r,(-1))).y),0,2)]?uacc.t:uu[2]),(true?v12.g:v12.p));
   }
  }
 }
 gl_Position=vec4(0.0,0.0,0.0,1.0);
 o0=acc0;
 o1=acc1;
 o2=acc2;
 o3=vec4(iacc&65535);
 o4=vec4((iacc>>16)&65535);
 o5=vec4(uacc&65535u);
 o6=vec4(uacc>>16u);
}
