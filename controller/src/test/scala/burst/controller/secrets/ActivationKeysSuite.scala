package burst.controller.secrets

import burst.protocol.Timestamp

class ActivationKeysSuite extends munit.FunSuite:
  private val uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
  private val keys = ActivationKeys(Some(SecretsKey.random()))
  private val key = keys.make(uuid, Timestamp.ofMillis(1000)).getOrElse("")

  test("a key opens its own namespace until it expires"):
    assert(keys.opens(uuid, key, Timestamp.ofMillis(999)))
    assert(!keys.opens(uuid, key, Timestamp.ofMillis(1000)))
    assert(!keys.opens(uuid.replace('0', '1'), key, Timestamp.ofMillis(999)))
    assert(!key.contains(":"))

  test("a key with any digit changed opens nothing, and neither does other text"):
    for i <- key.indices do
      val other = key.updated(i, if key(i) == '0' then '1' else '0')
      assert(!keys.opens(uuid, other, Timestamp.Epoch), other)
    val later = "7" + key.drop(1)
    for text <-
        Seq("", key.take(16), key.drop(16), key + "0", key.dropRight(1), later, key.toUpperCase, "\ud800")
    do
      assert(text == key || !keys.opens(uuid, text, Timestamp.Epoch), text)

  test("a key of another platform opens nothing, and without a secrets key none are made"):
    val others = ActivationKeys(Some(SecretsKey.random()))
    assert(!others.opens(uuid, key, Timestamp.Epoch))
    val none = ActivationKeys(None)
    assertEquals(none.make(uuid, Timestamp.ofMillis(1000)), None)
    assert(!none.opens(uuid, key, Timestamp.Epoch))
