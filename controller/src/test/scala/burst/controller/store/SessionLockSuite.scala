package burst.controller.store

import scala.concurrent.duration.DurationInt

class SessionLockSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  private val locks = FunFixture[() => SessionLock](
    _ =>
      val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
      () => SessionLock(settings, "members")
    ,
    _ => ()
  )

  locks.test("many have a share, and then nobody gets the whole"): make =>
    val (one, other, third) = (make(), make(), make())
    assert(one.tryShare() && other.tryShare())
    assert(!third.tryWhole())
    assertEquals(third.held(), None)
    one.close()
    assert(!third.tryWhole())
    other.close()
    assert(third.tryWhole())
    assertEquals(third.held(), Some(Hold.Whole))
    third.close()

  locks.test("who has the whole keeps a share of it, and lets others have theirs only then"): make =>
    val (one, other) = (make(), make())
    assert(one.tryWhole() && one.tryWhole())
    assert(!other.tryShare() && !other.tryWhole())
    assert(one.tryShare())
    assertEquals(one.held(), Some(Hold.Shared))
    assert(other.tryShare() && !other.tryWhole())
    one.close()
    other.close()

  locks.test("one that is released can be had again, one that is closed takes nothing"): make =>
    val lock = make()
    assert(lock.tryShare())
    lock.release()
    assert(lock.tryWhole())
    lock.close()
    assert(!lock.tryShare() && !lock.tryWhole())
    assertEquals(lock.held(), None)

  locks.test("locks of other names, and of other databases, are others"): make =>
    val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    val all = Vector(make(), SessionLock(settings, "members"), SessionLock(settings, "else"))
    assert(all.forall(_.tryWhole()))
    all.foreach(_.close())

  test("a server that is killed takes the lock along, and gives it again when it is back"):
    val server = PostgresServer.fresh()
    try
      val settings = server.settings(server.createDatabase(), connectTimeout = 1.second)
      val lock = SessionLock(settings, "members")
      assert(lock.tryShare())
      server.kill()
      assertEquals(lock.held(), None)
      val failure = intercept[StoreUnavailable](lock.tryShare())
      assert(!failure.getMessage.contains(settings.password), failure.getMessage)
      server.start()
      assert(lock.tryShare())
      assertEquals(lock.held(), Some(Hold.Shared))
      lock.close()
    finally server.close()
