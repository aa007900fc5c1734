package burst.controller.http

import scala.concurrent.{ExecutionContext, Future}

/** Goes on with a value that may have been refused, and passes the refusal on. */
object Refusable:
  def apply[A](value: Either[ApiError, A])(next: A => Answer): Answer = value match
    case Left(error) => Future.successful(Left(error))
    case Right(value) => next(value)

  def apply[A](value: Future[Either[ApiError, A]])(next: A => Answer)(using ExecutionContext): Answer =
    value.flatMap(apply(_)(next))
