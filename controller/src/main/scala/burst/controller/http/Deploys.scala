package burst.controller.http

import burst.controller.store.Identity
import org.apache.pekko.http.scaladsl.model.HttpRequest

/** Calls that store an entity under its name. A namespace may make so many changes a minute, of whatever
  * kind: each is written to the disk.
  */
final class Deploys(intake: BodyIntake):
  private val rate = RateLimiter()

  /** Counts one more change. */
  def admit(caller: Identity): Either[ApiError, Unit] =
    val perMinute = caller.limits.deploysPerMinute
    rate.take(caller.namespace, perMinute).left.map(ApiError.DeploysLimited(perMinute, _))

  /** Takes in the body of one that may store over what is there if it says so. It counts also if it is
    * refused in the end: it is the body that is work.
    */
  def apply(caller: Identity, request: HttpRequest)(work: (Boolean, BodyIntake#Taken) => Answer): Answer =
    val wanted =
      for
        overwrite <- QueryParameters(request.uri.query()).flag("overwrite")
        _ <- admit(caller)
      yield overwrite
    Refusable(wanted)(overwrite => intake(caller.namespace, request)(work(overwrite, _)))
