package burst.controller.store

import scala.concurrent.{ExecutionContext, Future}

/** Runs what blocks on a database, a disk or a bucket, on threads kept for that. */
final class Blocking(threads: ExecutionContext):
  def apply[A](work: => A): Future[A] = Future(work)(threads)
