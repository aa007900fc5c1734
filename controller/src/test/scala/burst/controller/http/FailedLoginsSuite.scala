package burst.controller.http

import burst.node.MonotonicTime
import scala.concurrent.{ExecutionContext, Future}

class FailedLoginsSuite extends munit.FunSuite:
  private given ExecutionContext = ExecutionContext.parasitic
  private val rates = RateLimiter(() => MonotonicTime.Zero)
  private val logins = FailedLogins(2, rates)

  private def login(client: String)(look: => Future[Option[Int]]) =
    logins.within(client, "u:k")(look).value.flatMap(_.toOption)

  test("credentials that could not be checked do not count as wrong"):
    (1 to 3).foreach(_ => assertEquals(login("a")(Future.failed(IllegalStateException("down"))), None))
    assertEquals(login("a")(Future.successful(None)), Some(Right(None)))
    assertEquals(login("a")(Future.successful(None)), Some(Right(None)))
    assert(login("a")(Future.successful(Some(1))).exists(_.isLeft), "a client that guesses has to wait")
    assertEquals(login("b")(Future.successful(Some(1))), Some(Right(Some(1))))
    assertEquals(
      login("a")(Future.successful(Some(1))),
      Some(Right(Some(1))),
      "a client that logged in before does not"
    )
