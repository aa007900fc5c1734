package burst.controller.http

import burst.controller.store.Identity
import org.apache.pekko.http.scaladsl.model.HttpRequest

/** Calls that store an entity under its name. A namespace may make a limited number of such changes per
  * minute, of any kind, as each is written to disk.
  */
final class Deploys(intake: BodyIntake):
  private val rate = RateLimiter()

  /** Counts one more change. */
  def admit(caller: Identity): Either[ApiError, Unit] =
    val perMinute = caller.limits.deploysPerMinute
    rate.take(caller.namespace, perMinute).left.map(ApiError.DeploysLimited(perMinute, _))

  /** Takes in the body of such a call, which replaces what is stored if its query says `overwrite`. It counts
    * even if it is refused in the end: the body is what costs.
    */
  def apply(caller: Identity, request: HttpRequest)(work: (Boolean, BodyIntake#Taken) => Answer): Answer =
    val wanted =
      for
        overwrite <- QueryParameters(request.uri.query()).flag("overwrite")
        _ <- admit(caller)
      yield overwrite
    Refusable(wanted)(overwrite => intake(caller.namespace, request)(work(overwrite, _)))
