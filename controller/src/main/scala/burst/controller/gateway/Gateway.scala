package burst.controller.gateway

import burst.controller.limits.LruCache
import burst.controller.store.ApiStore

/** Finds the target of a request to an API. Operations are cached until their API changes. Calls block. */
final class Gateway(store: ApiStore):
  private val known = LruCache[String, ApiOperations](Gateway.MaxCached)

  /** Finds the target by the path below the tenant's address, which begins with the API's base path; returns
    * none if the tenant has no APIs.
    */
  def find(tenant: String, path: Vector[String], verb: String): Option[ApiTarget] =
    val revisions = store.revisions(tenant)
    Option.when(revisions.nonEmpty):
      val targets = revisions.toVector
        .flatMap((base, revision) => below(base, path).map((base, revision, _)))
        // The longest base path first: another API may have the path if this one does not.
        .sortBy((_, _, rest) => rest.size)
        // Lazy, so that an API is read only when its turn comes.
        .to(LazyList)
        .map((base, revision, rest) => operations(tenant, base, revision).find(rest, verb))
      targets
        .collectFirst { case found: ApiTarget.Found => found }
        .orElse(targets.collectFirst { case others: ApiTarget.OtherVerbs => others })
        .getOrElse(ApiTarget.Nowhere)

  private def below(base: String, path: Vector[String]): Option[Vector[String]] =
    val start = if base == "/" then Vector.empty else ApiPath.split(base)
    Option.when(path.startsWith(start))(path.drop(start.size)).map(rest =>
      if rest.isEmpty then Vector("") else rest
    )

  private def operations(tenant: String, base: String, revision: String): ApiOperations =
    known.synchronized(Option(known.get(revision))).getOrElse:
      store
        .find(tenant, base)
        .fold(ApiOperations.Empty): api =>
          val read = ApiOperations.of(GatewayApis.read(api), api.namespace)
          known.synchronized(known.put(revision, read))
          read

object Gateway:
  private val MaxCached = 200
