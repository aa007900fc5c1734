package burst.protocol

class VersionsSuite extends munit.FunSuite:
  test("the common version is the newest that both speak"):
    val own = Versions(3, 5)
    for (oldest, newest, common) <- Vector(
        (1, 2, None),
        (1, 3, Some(3)),
        (4, 4, Some(4)),
        (5, 9, Some(5)),
        (6, 9, None)
      )
    do
      assertEquals(own.common(Versions(oldest, newest)), common)
      assertEquals(Versions(oldest, newest).common(own), common)

  test("a range is parsed as it is written"):
    assertEquals(Versions.parse(Versions(2, 5).range), Some(Versions(2, 5)))
    assertEquals(Versions.parse("4"), Some(Versions(4, 4)))
    Vector("", "x", "5-2", "2-x", "-1", "1-2-3").foreach(bad => assertEquals(Versions.parse(bad), None, bad))
