package burst.controller.http

import scala.concurrent.{ExecutionContext, Future}

/** Continues with a value that may have been refused, or passes the refusal on. */
object Refusable:
  def apply[A, B](value: Either[ApiError, A])(
      next: A => Future[Either[ApiError, B]]
  ): Future[Either[ApiError, B]] = value match
    case Left(error) => Future.successful(Left(error))
    case Right(value) => next(value)

  def apply[A, B](value: Future[Either[ApiError, A]])(next: A => Future[Either[ApiError, B]])(using
      ExecutionContext
  ): Future[Either[ApiError, B]] = value.flatMap(apply(_)(next))
