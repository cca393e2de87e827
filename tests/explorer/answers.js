// What the page's functions answer at one setting; explorer_golden.py asks Python the same.
function answers(bocce, given) {
  const { n, b, kappa, R, a, T, alpha, beta, theta, spectrum, noise, start, constants } = given;
  const mu = 1 / kappa, z = bocce.zeta2(n, b);
  const found = {
    zeta2: z,
    batch_threshold: bocce.batch_threshold(n, kappa, a),
    lower_bound_threshold: bocce.lower_bound_threshold(n, kappa),
    stages: given.horizons.map((T) => bocce.stage_count(T, kappa)),
    certificate: bocce.certificate(alpha, beta, R, mu, 1),
    certified_rate: bocce.certified_rate(alpha, beta, z, R, mu, 1),
    certified_batch_size: bocce.certified_batch_size(n, alpha, beta, R, mu, 1),
    best: bocce.best_heavy_ball(kappa, R, z),
    useful: [
      bocce.useful_batch({ L: 1, R2: R }),
      bocce.useful_batch({ L: a, R2: R, gradient_noise: noise, gap: alpha, momentum_gain: kappa }),
    ],
    edge: [0, theta].flatMap((theta) => [
      bocce.edge({ beta, lam: mu, zeta2: z, L_max: R, theta }),
      bocce.edge({ alpha, beta, lam: mu, L_max: R, theta }),
      bocce.edge({ alpha, beta, zeta2: z, L_max: R, theta }),
    ]),
    tables: {}, curves: {},
  };
  for (const name of given.methods) {
    const { alpha, beta, theta } = bocce.schedule(name, { T, n, b, ...constants });
    found.tables[name] = [alpha, beta, theta].map((column) => Array.from(column));
    found.curves[name] = [null, constants.L_max].map((L_max) => {
      const curve = bocce.expected({ spectrum, noise, n, b, alpha, beta, theta, L_max, start });
      return Object.values(curve).map((column) => Array.from(column));
    });
  }
  const rates = (n, L_max) => {
    const model = { spectrum, noise, n, b, alpha, beta, theta, L_max };
    return [bocce.mean_square_rate(model), bocce.critical_batch_size(model),
      bocce.stationary(model).error2];
  };
  found.rates = [null, constants.L_max].map((L_max) => rates(n, L_max));
  found.fresh = rates(null, null);
  return JSON.stringify(found, (_, x) => (typeof x === "number" && !isFinite(x) ? String(x) : x));
}
