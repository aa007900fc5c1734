package burst.controller.http

import burst.controller.flare.Submission
import burst.controller.store.{FlareStore, Identity}
import burst.protocol.FlareId
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.util.ByteString

/** What the same request began before. Calls block. */
final class Submissions(flares: FlareStore):
  /** Returns the submission that a request with this body begins, if it has a key, or the flare that it began
    * before.
    */
  def of(
      caller: Identity,
      request: HttpRequest,
      key: Option[String],
      body: ByteString
  ): Either[ApiError, Either[FlareId, Option[Submission]]] =
    key match
      case None => Right(Right(None))
      case Some(key) =>
        val submission = Submission.of(key, Submissions.target(request), body)
        flares.submitted(caller.namespace, key) match
          case None => Right(Right(Some(submission)))
          case Some(first) if first.digest == submission.digest => Right(Left(first.id))
          case Some(_) => Left(ApiError.IdempotencyKeyUsed)

object Submissions:
  /** How often a request that was stored meanwhile is looked for. */
  val Tries = 10

  /** Query parameters that only affect how a request is answered: a client that repeats a request need not
    * wait as it did the first time.
    */
  private val OfAnswer = Set("blocking", "result", "timeout")

  /** Returns what the request addresses. */
  private def target(request: HttpRequest): String =
    val query = request.uri.query().filterNot((name, _) => OfAnswer(name))
    s"${request.uri.path}?${query.map((name, value) => s"$name=$value").mkString("&")}"
