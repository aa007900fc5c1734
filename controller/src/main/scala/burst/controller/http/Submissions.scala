package burst.controller.http

import burst.controller.flare.Submission
import burst.controller.store.{FlareStore, Identity}
import burst.protocol.FlareId
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.util.ByteString

/** What was begun before by the same request. Calls block. */
final class Submissions(flares: FlareStore):
  /** What is to be begun by a request with this body, if it has a key, or what was. */
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
  /** How often what was stored meanwhile is looked for. */
  val Tries = 10

  /** What says only how a request is answered: a client that asks again need not wait as the first time. */
  private val OfAnswer = Set("blocking", "result", "timeout")

  /** What it is asked of. */
  private def target(request: HttpRequest): String =
    val query = request.uri.query().filterNot((name, _) => OfAnswer(name))
    s"${request.uri.path}?${query.map((name, value) => s"$name=$value").mkString("&")}"
