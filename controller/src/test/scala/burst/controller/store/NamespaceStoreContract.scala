package burst.controller.store

import burst.controller.store.Samples.limits

/** What every implementation of [[NamespaceStore]] must do. */
abstract class NamespaceStoreContract extends munit.FunSuite:
  def storage: FunFixture[Storage]

  private def split(credentials: Option[String]): (String, String) =
    credentials.map(_.split(":", 2)) match
      case Some(Array(uuid, key)) => (uuid, key)
      case other => fail(s"not a key pair: $other")

  storage.test("wrong, swapped, empty and monstrous credentials open nothing"): s =>
    val (uuid, key) = split(s.namespaces.create("guest", None))
    val wrong = Vector(
      (uuid, key.reverse),
      (key, uuid),
      ("", ""),
      (uuid, ""),
      ("' OR 1=1 --", key),
      (uuid, "x" * 1000000),
      (uuid.toUpperCase + " ", key)
    )
    wrong.foreach((u, k) => assertEquals(s.namespaces.authenticate(u, k), None))

  storage.test("a key opens its own namespace, with the configured limits or its own"): s =>
    val (uuid, key) = split(s.namespaces.create("guest", None))
    val own = limits.copy(burstSize = 3)
    val (otherUuid, otherKey) = split(s.namespaces.create("other", Some(own)))
    assertEquals(s.namespaces.authenticate(uuid, key), Some(Identity("guest", limits)))
    assertEquals(s.namespaces.authenticate(otherUuid, otherKey), Some(Identity("other", own)))
    assertEquals(s.namespaces.authenticate(uuid, otherKey), None)
    assertEquals(s.namespaces.limits("other"), Some(own))
    assertEquals(s.namespaces.limits("nobody"), None)

  storage.test("a namespace is created once"): s =>
    assert(s.namespaces.create("guest", None).isDefined)
    assertEquals(s.namespaces.create("guest", None), None)

  storage.test("a renewed key replaces the old one"): s =>
    assertEquals(s.namespaces.renewKey("guest"), None)
    val (uuid, key) = split(s.namespaces.create("guest", None))
    val (newUuid, newKey) = split(s.namespaces.renewKey("guest"))
    assertEquals(s.namespaces.authenticate(uuid, key), None)
    assertEquals(s.namespaces.authenticate(newUuid, newKey).map(_.namespace), Some("guest"))
